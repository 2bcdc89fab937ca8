"""How much each user and client may do: which quota holds for whom, and how long who exceeds it must wait."""
