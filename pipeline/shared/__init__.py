"""What both engines run on: the plan, the job, its place, progress, processes and files."""
