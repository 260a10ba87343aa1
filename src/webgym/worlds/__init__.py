"""The offline web: websites and tasks that need no internet, with rubrics known by construction."""
