"""What a newcomer looks for, one short script each. Run `penstock up` in another terminal first.

python -m examples.basics.pub_sub [--bootstrap-server 127.0.0.1:9092]
"""
