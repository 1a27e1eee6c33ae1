"""What every local page of ours stands behind: who may enter, for which host names, and how calls are answered."""
