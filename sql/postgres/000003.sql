-- The plants of a tag by name. The start of the tag and of the name keep an entry within what an index takes.
CREATE INDEX plants_by_tag_and_name ON plants (left(tag, 128), sort_key, id) WHERE tag IS NOT NULL;
