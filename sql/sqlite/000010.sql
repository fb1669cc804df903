-- The indexes of plants of schema 2. A search index beside the store has replaced them. To drop those of a million plants
-- takes 0.1 s, and the services of schemas 3 to 9 did it later, in parts.
DROP TABLE IF EXISTS plant_journal;
DROP TABLE IF EXISTS plant_index;
DROP TABLE IF EXISTS plant_names;
DROP TABLE IF EXISTS plant_tags;
DROP TABLE IF EXISTS tag_counts;
DROP TABLE IF EXISTS plant_words;
