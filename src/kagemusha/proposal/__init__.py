from kagemusha.proposal.propose import propose as propose
