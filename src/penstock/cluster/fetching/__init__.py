"""How a follower keeps up with its leaders: what it asks for and what it does with the answers."""
