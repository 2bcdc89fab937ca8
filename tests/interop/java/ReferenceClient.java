import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Uses a broker as an application would, and writes a line for each step: its name, a tab, what came of it. */
public class ReferenceClient {
    private static final String TOPIC = "reference";
    private static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);
    private static String broker;

    interface Step {
        Object run() throws Exception;
    }

    private static void step(String name, Step step) {
        Object outcome;
        try {
            outcome = step.run();
        } catch (ExecutionException error) {
            outcome = error.getCause().getClass().getSimpleName();
        } catch (Exception error) {
            outcome = error.toString();
        }
        System.out.println(name + "\t" + outcome);
    }

    private static Properties settings(Object... pairs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker);
        for (int i = 0; i < pairs.length; i += 2) {
            settings.put(pairs[i], pairs[i + 1]);
        }
        return settings;
    }

    private static KafkaProducer<String, String> producer(Object... pairs) {
        return new KafkaProducer<>(settings(pairs), new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(Object... pairs) {
        Properties settings = settings(pairs);
        settings.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static List<ConsumerRecord<String, String>> read(Consumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long end = System.currentTimeMillis() + 30_000;
        while (records.size() < count && System.currentTimeMillis() < end) {
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
        }
        return records;
    }

    private static String produce(String codec) throws Exception {
        try (var producer = producer("compression.type", codec, "linger.ms", 5)) {
            Future<RecordMetadata> last = null;
            for (int i = 0; i < 100; i++) {
                last = producer.send(new ProducerRecord<>(TOPIC, i % 2, 1000L + i, i % 7 == 0 ? null : "k" + i,
                        i % 11 == 0 ? null : "v" + i,
                        List.of(new RecordHeader("h", null), new RecordHeader("h", new byte[0]))));
            }
            return String.valueOf(last.get().offset());
        }
    }

    private static String readAll() {
        try (var consumer = consumer()) {
            var partitions = List.of(FIRST, new TopicPartition(TOPIC, 1));
            consumer.assign(partitions);
            var records = read(consumer, 500);
            var first = records.stream().filter(r -> r.partition() == 0 && r.offset() == 0).findFirst().get();
            return records.size() + " " + first.key() + " " + first.value() + " " + first.timestamp() + " "
                    + first.headers().toArray().length + " " + new TreeMap<>(Map.of(
                            0, consumer.endOffsets(partitions).get(FIRST),
                            1, consumer.offsetsForTimes(Map.of(FIRST, 1050L)).get(FIRST).offset()));
        }
    }

    private static String readAsGroup(String protocol) {
        try (var consumer = consumer("group.id", protocol + "-group", "group.protocol", protocol,
                "enable.auto.commit", false)) {
            consumer.subscribe(List.of(TOPIC));
            int count = read(consumer, 500).size();
            consumer.commitSync();
            return count + " " + consumer.committed(Set.of(FIRST)).get(FIRST).offset();
        }
    }

    private static String transact(Admin admin) throws Exception {
        String topic = TOPIC + "-transactions";
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        try (var producer = producer("transactional.id", "reference");
                var member = consumer("group.id", "transactional-group")) {
            producer.initTransactions();
            for (String outcome : List.of("committed", "aborted", "last")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, outcome)).get();
                if (outcome.equals("aborted")) {
                    producer.abortTransaction();
                } else {
                    producer.sendOffsetsToTransaction(
                            Map.of(FIRST, new OffsetAndMetadata(7)), member.groupMetadata());
                    producer.commitTransaction();
                }
            }
        }
        try (var consumer = consumer("isolation.level", "read_committed")) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var values = read(consumer, 2).stream().map(ConsumerRecord::value).toList();
            var offsets = admin.listConsumerGroupOffsets("transactional-group").partitionsToOffsetAndMetadata();
            return values + " " + offsets.get().get(FIRST).offset();
        }
    }

    private static String fence() throws Exception {
        try (var first = producer("transactional.id", "fenced");
                var second = producer("transactional.id", "fenced")) {
            first.initTransactions();
            first.beginTransaction();
            first.send(new ProducerRecord<>(TOPIC, 0, null, "left open")).get();
            second.initTransactions();
            first.send(new ProducerRecord<>(TOPIC, 0, null, "too late")).get();
            return "not fenced";
        }
    }

    private static String configure(Admin admin) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND),
                new AlterConfigOp(new ConfigEntry("retention.ms", null), AlterConfigOp.OpType.DELETE)))).all().get();
        var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        return config.get("cleanup.policy").value() + " " + config.get("retention.ms").value();
    }

    public static void main(String[] arguments) throws Exception {
        broker = arguments[0];
        try (Admin admin = Admin.create(settings())) {
            var topic = new NewTopic(TOPIC, 2, (short) 1).configs(Map.of("retention.ms", "3600000"));
            step("create", () -> admin.createTopics(List.of(topic)).numPartitions(TOPIC).get());
            step("create again", () -> admin.createTopics(List.of(topic)).all().get());
            for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                step("produce " + codec, () -> produce(codec));
            }
            step("produce too much", () -> {
                try (var producer = producer("max.request.size", 5_000_000)) {
                    return producer.send(new ProducerRecord<>(TOPIC, "x".repeat(1_100_000))).get();
                }
            });
            step("read", ReferenceClient::readAll);
            step("read as a classic group", () -> readAsGroup("classic"));
            step("read as a consumer group", () -> readAsGroup("consumer"));
            step("describe the group", () -> {
                var group = admin.describeConsumerGroups(List.of("classic-group")).all().get().get("classic-group");
                return group.groupState() + " " + group.type();
            });
            step("transactions", () -> transact(admin));
            step("fence", ReferenceClient::fence);
            step("newest timestamp", () -> admin.listOffsets(Map.of(
                    new TopicPartition(TOPIC, 1), OffsetSpec.maxTimestamp())).all().get().values().iterator().next()
                    .timestamp());
            step("configure", () -> configure(admin));
            step("grow", () -> {
                admin.createPartitions(Map.of(TOPIC, NewPartitions.increaseTo(3))).all().get();
                return admin.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC).partitions().size();
            });
            step("delete records", () -> admin.deleteRecords(Map.of(FIRST, RecordsToDelete.beforeOffset(10)))
                    .lowWatermarks().get(FIRST).get().lowWatermark());
            step("delete", () -> {
                var id = admin.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC).topicId();
                admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
                return admin.describeTopics(List.of(TOPIC)).allTopicNames().get();
            });
        }
        System.exit(0);
    }
}
