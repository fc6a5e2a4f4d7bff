from worker.jobs import run

run({"id": 1})
