from kagemusha.facts.read import schema_from as schema_from
