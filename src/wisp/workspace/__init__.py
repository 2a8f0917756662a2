"""The operating system, seen through granted folders: files, walking, searching, running programs.

Standard library only (and pathspec where ripgrep is absent).  Knows nothing of models, messages or tools.
"""
