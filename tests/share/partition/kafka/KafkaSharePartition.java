package kafka.server.share; // what it drives is visible here only

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.persister.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/** Drives Kafka's share partition by the commands on its input, see {@code __init__.py}. */
public class KafkaSharePartition {
    private static final Uuid TOPIC_ID = new Uuid(1, 2);
    private static final int SIZE_BYTES_MAX = 1 << 20;

    private long now = 0;
    private int made = 0;
    private SharePartition partition;
    private final List<TimerTaskEntry> timers = new ArrayList<>();
    private final List<CompletableFuture<WriteShareGroupStateResult>> writes = new ArrayList<>();
    private final List<long[]> batches = new ArrayList<>(); // written since the command began
    private ReadShareGroupStateResult kept;

    public static void main(String[] args) throws Exception {
        KafkaSharePartition driver = new KafkaSharePartition();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            driver.batches.clear();
            System.out.println(driver.answer(line.split(" ")).trim());
        }
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "new": return begin(words);
            case "acquire": return acquire(words);
            case "acknowledge": return acknowledge(words);
            case "release": return outcome(partition.releaseAcquiredRecords(words[1]));
            case "settle": settle(Integer.parseInt(words[1]), words[2].equals("1")); return "";
            case "time": return expire(Long.parseLong(words[1]));
            case "log_start": partition.updateCacheAndOffsets(Long.parseLong(words[1])); return "";
            case "state": return state();
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    private String begin(String[] words) throws Exception {
        now = 0;
        timers.clear();
        writes.clear();
        List<PersisterStateBatch> state = new ArrayList<>();
        for (int i = 5; i < words.length; i++) {
            long[] n = numbers(words[i], "-");
            state.add(new PersisterStateBatch(n[0], n[1], (byte) n[2], (short) n[3]));
        }
        kept = new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(TOPIC_ID, List.of(
            PartitionFactory.newPartitionAllData(0, 0, Long.parseLong(words[1]), (short) 0, "", state))))).build();
        partition = new SharePartition(
            "group-" + made++, new TopicIdPartition(TOPIC_ID, new TopicPartition("topic", 0)), 0,
            Integer.parseInt(words[3]), Integer.parseInt(words[2]), Integer.parseInt(words[4]),
            new ManualTimer(), new ManualTime(), new ManualPersister(), null, noConfigs(), null);
        partition.maybeInitialize().join();
        return "";
    }

    private String acquire(String[] words) {
        ByteBuffer buffer = ByteBuffer.allocate(SIZE_BYTES_MAX);
        List<AbortedTransaction> aborted = new ArrayList<>();
        for (int i = 6; i < words.length; i++) {
            long[] ends = numbers(words[i].replace("a", ""), "-");
            SimpleRecord[] records = new SimpleRecord[(int) (ends[1] - ends[0] + 1)];
            java.util.Arrays.fill(records, new SimpleRecord(0L, new byte[1], new byte[1]));
            if (words[i].endsWith("a")) {
                aborted.add(new AbortedTransaction().setProducerId(i).setFirstOffset(ends[0]));
                buffer.put(MemoryRecords.withTransactionalRecords(
                    ends[0], Compression.NONE, i, (short) 0, 0, 0, records).buffer());
            } else {
                buffer.put(MemoryRecords.withRecords(ends[0], Compression.NONE, records).buffer());
            }
        }
        buffer.flip();
        FetchPartitionData read = new FetchPartitionData(
            Errors.NONE, Long.MAX_VALUE, 0, MemoryRecords.readableRecords(buffer), Optional.empty(),
            OptionalLong.empty(), Optional.of(aborted), OptionalInt.empty(), false);
        StringBuilder answer = new StringBuilder();
        partition.acquire(
            words[1], words[2].equals("1") ? ShareAcquireMode.RECORD_LIMIT : ShareAcquireMode.BATCH_OPTIMIZED,
            Integer.parseInt(words[3]), Integer.parseInt(words[4]), Long.parseLong(words[5]), read,
            FetchIsolation.TXN_COMMITTED
        ).acquiredRecords().forEach(each -> answer.append(
            each.firstOffset() + "-" + each.lastOffset() + "-" + each.deliveryCount() + " "));
        return answer.toString();
    }

    private String acknowledge(String[] words) {
        List<ShareAcknowledgementBatch> acknowledgements = new ArrayList<>();
        for (int i = 2; i < words.length; i++) {
            String[] parts = words[i].split("-");
            List<Byte> types = new ArrayList<>();
            for (String type : parts[2].split(",")) types.add(Byte.parseByte(type));
            acknowledgements.add(new ShareAcknowledgementBatch(
                Long.parseLong(parts[0]), Long.parseLong(parts[1]), types));
        }
        return outcome(partition.acknowledge(words[1], acknowledgements));
    }

    private String outcome(CompletableFuture<Void> future) {
        if (!future.isDone()) return "write " + (writes.size() - 1) + " " + told(batches);
        try {
            future.join();
            return "";
        } catch (CompletionException error) {
            return "error " + Errors.forException(error.getCause()).code();
        }
    }

    private String expire(long time) {
        now = time;
        int written = writes.size();
        List<TimerTaskEntry> due = new ArrayList<>(timers);
        due.removeIf(entry -> entry.expirationMs > now);
        timers.removeAll(due);
        due.sort(Comparator.comparingLong(entry -> entry.expirationMs));
        for (TimerTaskEntry entry : due) {
            try {
                if (!entry.cancelled()) entry.timerTask.run();
            } catch (NullPointerException error) {
                // There is no broker here whose waiting fetches it could wake: the last that it does.
            }
        }
        for (int i = written; i < writes.size(); i++) settle(i, true);
        return told(batches);
    }

    private void settle(int number, boolean isWritten) {
        short code = isWritten ? 0 : Errors.COORDINATOR_NOT_AVAILABLE.code();
        writes.get(number).complete(new WriteShareGroupStateResult.Builder().setTopicsData(List.of(
            new TopicData<>(TOPIC_ID, List.of(PartitionFactory.newPartitionErrorData(0, code, ""))))).build());
    }

    private String state() {
        List<long[]> all = new ArrayList<>();
        partition.cachedState().values().forEach(batch -> {
            if (batch.offsetState() == null) {
                all.add(new long[] {batch.firstOffset(), batch.lastOffset(), batch.batchState().id(),
                    batch.batchDeliveryCount()});
            } else {
                batch.offsetState().forEach((offset, state) ->
                    all.add(new long[] {offset, offset, state.state().id(), state.deliveryCount()}));
            }
        });
        return partition.startOffset() + " " + partition.endOffset() + " " + partition.deliveryCompleteCount() + " "
            + partition.nextFetchOffset() + " " + (partition.canAcquireRecords() ? 1 : 0) + " " + told(all);
    }

    /** Neighbours that are alike become one. */
    private static String told(List<long[]> batches) {
        List<long[]> joined = new ArrayList<>();
        List<long[]> sorted = new ArrayList<>(batches);
        Collections.sort(sorted, Comparator.comparingLong(batch -> batch[0]));
        for (long[] batch : sorted) {
            long[] before = joined.isEmpty() ? null : joined.get(joined.size() - 1);
            if (before != null && before[1] + 1 == batch[0] && before[2] == batch[2] && before[3] == batch[3]) {
                before[1] = batch[1];
            } else {
                joined.add(batch.clone());
            }
        }
        StringBuilder text = new StringBuilder();
        for (long[] b : joined) text.append(b[0] + "-" + b[1] + "-" + b[2] + "-" + b[3] + " ");
        return text.toString();
    }

    private static long[] numbers(String text, String separator) {
        return java.util.Arrays.stream(text.split(separator)).mapToLong(Long::parseLong).toArray();
    }

    private static GroupConfigManager noConfigs() throws Exception {
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true); // its constructor wants the configuration of a whole broker
        return (GroupConfigManager) ((sun.misc.Unsafe) field.get(null)).allocateInstance(NoConfigs.class);
    }

    private static class NoConfigs extends GroupConfigManager {
        NoConfigs() {
            super(null, null, null);
        }

        @Override
        public Optional<GroupConfig> groupConfig(String groupId) {
            return Optional.empty();
        }
    }

    private class ManualTime implements Time {
        public long milliseconds() {
            return now;
        }

        public long hiResClockMs() {
            return now;
        }

        public long nanoseconds() {
            return now * 1_000_000;
        }

        public void sleep(long ms) { }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
    }

    private class ManualTimer implements Timer {
        public void add(TimerTask task) {
            timers.add(new TimerTaskEntry(task, now + task.delayMs));
        }

        public boolean advanceClock(long timeoutMs) {
            return false;
        }

        public int size() {
            return timers.size();
        }

        public void close() { }
    }

    private class ManualPersister implements Persister {
        public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters asked) {
            return CompletableFuture.completedFuture(kept);
        }

        public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters asked) {
            PartitionStateBatchData data = asked.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
            data.stateBatches().forEach(each -> batches.add(new long[] {
                each.firstOffset(), each.lastOffset(), each.deliveryState(), each.deliveryCount()}));
            writes.add(new CompletableFuture<>());
            return writes.get(writes.size() - 1);
        }

        public CompletableFuture<InitializeShareGroupStateResult> initializeState(
                InitializeShareGroupStateParameters asked) {
            throw new UnsupportedOperationException();
        }

        public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters asked) {
            throw new UnsupportedOperationException();
        }

        public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(
                ReadShareGroupStateSummaryParameters asked) {
            throw new UnsupportedOperationException();
        }

        public void stop() { }
    }
}
