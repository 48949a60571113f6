// Nothing: the text of libraries that are there for their names.
