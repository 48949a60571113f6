"""Generates the C face of Tasuki: the headers, tables and entries of both ABIs."""
