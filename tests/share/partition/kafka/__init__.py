"""Histories of Kafka's own share partition, which ours must repeat.

`record.py` drives Kafka's class, without a broker around it, through random histories and keeps what it answers in
`histories.txt`; `test_kafka_histories.py` drives ours through the same ones. A line is `command => answer`, a history
ends with an empty line. Commands (offsets of ranges are joined by `-`, both ends included):

    new START LIMIT LOCKS LOCK_MS [FIRST-LAST-STATE-COUNT ...]       what the persister had kept
    acquire MEMBER MODE BATCH_SIZE RECORDS_MAX OFFSET FIRST-LAST[a] ...   `a`: of an aborted transaction
    acknowledge MEMBER FIRST-LAST-TYPE[,TYPE ...] ...
    release MEMBER
    settle WRITE 0|1                                                 whether it was written
    time MS                                                          locks expire, and that is written
    log_start OFFSET
    state

Answers: `acquire` the ranges with their delivery counts; `acknowledge` and `release` `error CODE`, nothing, or
`write NUMBER` with the batches to write; `time` the batches written; `state` the start and end offset, the count of
done records, the next fetch offset, whether records can be acquired, and the batches in flight.
"""
