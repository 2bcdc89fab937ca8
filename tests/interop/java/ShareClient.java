import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Uses share groups as an application would, and writes a line for each step: its name, a tab, what came of it. */
public class ShareClient {
    private static final String TOPIC = "shared-by-java";
    private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
    private static final String GROUP = "java-share";
    private static final Duration PATIENCE = Duration.ofSeconds(20);
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
            outcome = error.getClass().getSimpleName();
            error.printStackTrace();
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

    private static KafkaShareConsumer<String, String> member(String mode, Object... more) {
        Properties settings = settings(more);
        settings.put("group.id", GROUP);
        settings.put("share.acknowledgement.mode", mode);
        var member = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        member.subscribe(List.of(TOPIC));
        return member;
    }

    private static List<ConsumerRecord<String, String>> poll(KafkaShareConsumer<String, String> member) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long end = System.currentTimeMillis() + PATIENCE.toMillis();
        while (records.isEmpty() && System.currentTimeMillis() < end) {
            member.poll(Duration.ofMillis(100)).forEach(records::add);
        }
        return records;
    }

    private static String shown(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(r -> r.offset() + "x" + r.deliveryCount().get()).collect(Collectors.joining(" "));
    }

    private static String committed(KafkaShareConsumer<String, String> member) {
        return member.commitSync(PATIENCE).values().stream()
                .map(error -> error.map(e -> e.getClass().getSimpleName()).orElse("ok")).toList().toString();
    }

    private static void produce(int count) throws Exception {
        try (var producer = new KafkaProducer<>(settings("linger.ms", 5), new StringSerializer(),
                new StringSerializer())) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(TOPIC, 0, null, "v" + i));
            }
        }
    }

    private static String acknowledge(KafkaShareConsumer<String, String> member,
            Function<ConsumerRecord<String, String>, AcknowledgeType> decide) {
        var records = poll(member);
        records.forEach(record -> member.acknowledge(record, decide.apply(record)));
        return shown(records) + " " + committed(member);
    }

    private static String offsets(Admin admin) throws Exception {
        var found = admin.listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(GROUP).get();
        return found.entrySet().stream().map(each -> each.getKey() + " from " + each.getValue().startOffset()
                + " lag " + each.getValue().lag().map(String::valueOf).orElse("?")).toList().toString();
    }

    private static void configure(Admin admin, String name, String value) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, GROUP),
                List.of(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)))).all().get();
    }

    private static void acknowledgements(Admin admin) throws Exception {
        produce(6);
        try (var member = member("explicit", "max.poll.records", 100)) {
            step("accept, release, reject", () -> acknowledge(member,
                    r -> AcknowledgeType.forId((byte) (r.offset() % 3 + 1))));
            step("what was released", () -> {
                var records = poll(member);
                records.forEach(r -> member.acknowledge(r, AcknowledgeType.RENEW));
                return shown(records) + " " + committed(member);
            });
            step("what was renewed", () -> acknowledge(member, r -> AcknowledgeType.ACCEPT));
            step("acknowledge twice", () -> {
                produce(1);
                var record = poll(member).get(0);
                member.acknowledge(record);
                committed(member);
                member.acknowledge(record);
                return "taken";
            });
            step("poll without acknowledging", () -> {
                produce(1);
                var records = poll(member);
                try {
                    member.poll(Duration.ZERO);
                    return "taken";
                } catch (IllegalStateException error) {
                    records.forEach(member::acknowledge);
                    return error.getClass().getSimpleName() + " " + committed(member);
                }
            });
            step("a lock that ran out", () -> {
                configure(admin, "share.record.lock.duration.ms", "1000");
                produce(1);
                var late = poll(member);
                configure(admin, "share.record.lock.duration.ms", "30000");
                try (var other = member("explicit")) {
                    var again = poll(other);
                    late.forEach(member::acknowledge);
                    String refused = committed(member);
                    again.forEach(other::acknowledge);
                    return shown(again) + " late " + refused + " " + committed(other);
                }
            });
        }
    }

    private static void modes() {
        step("accept by polling", () -> {
            produce(5);
            List<Long> told = new ArrayList<>();
            try (var member = member("implicit")) {
                member.setAcknowledgementCommitCallback((offsets, error) ->
                        offsets.values().forEach(told::addAll));
                String first = shown(poll(member));
                member.poll(Duration.ofMillis(50));
                member.commitAsync();
                long end = System.currentTimeMillis() + PATIENCE.toMillis();
                while (told.size() < 5 && System.currentTimeMillis() < end) {
                    member.poll(Duration.ofMillis(50));
                }
                return first + " told " + new TreeSet<>(told);
            }
        });
        step("no more than asked for", () -> {
            produce(7);
            try (var member = member("explicit", "share.acquire.mode", "record_limit", "max.poll.records", 3)) {
                return acknowledge(member, r -> AcknowledgeType.ACCEPT) + ", "
                        + acknowledge(member, r -> AcknowledgeType.ACCEPT);
            }
        });
        step("left by closing", () -> {
            try (var member = member("explicit")) {
                poll(member);
            }
            try (var member = member("explicit")) {
                return acknowledge(member, r -> AcknowledgeType.ACCEPT);
            }
        });
    }

    private static void administration(Admin admin) throws Exception {
        step("list", () -> admin.listGroups(new ListGroupsOptions().withTypes(Set.of(GroupType.SHARE))).all().get()
                .stream().filter(g -> g.groupId().equals(GROUP))
                .map(g -> g.groupId() + " " + g.type() + " " + g.groupState().get() + " " + g.protocol()).toList());
        try (var member = member("explicit")) {
            produce(2);
            step("read on", () -> acknowledge(member, r -> AcknowledgeType.ACCEPT));
            step("describe", () -> {
                var group = admin.describeShareGroups(List.of(GROUP)).all().get().get(GROUP);
                var one = group.members().iterator().next();
                return group.groupState() + " " + group.members().size() + " "
                        + one.assignment().topicPartitions() + " " + one.consumerId().length();
            });
            step("alter offsets under a member", () -> admin.alterShareGroupOffsets(GROUP, Map.of(PARTITION, 0L))
                    .all().get());
            step("delete offsets under a member", () -> admin.deleteShareGroupOffsets(GROUP, Set.of(TOPIC))
                    .all().get());
            step("delete under a member", () -> admin.deleteShareGroups(List.of(GROUP)).all().get());
            step("join as a consumer", () -> {
                try (var consumer = new KafkaConsumer<>(settings("group.id", GROUP, "group.protocol", "consumer"),
                        new StringDeserializer(), new StringDeserializer())) {
                    consumer.subscribe(List.of(TOPIC));
                    for (int i = 0; i < 100; i++) {
                        consumer.poll(Duration.ofMillis(100));
                    }
                    return "joined";
                }
            });
        }
        step("offsets", () -> offsets(admin));
        step("alter offsets", () -> {
            admin.alterShareGroupOffsets(GROUP, Map.of(PARTITION, 20L)).all().get();
            return offsets(admin);
        });
        step("alter offsets of nothing", () -> admin.alterShareGroupOffsets(GROUP,
                Map.of(new TopicPartition("nobody", 0), 20L)).all().get());
        step("read from there", () -> {
            try (var member = member("explicit")) {
                return acknowledge(member, r -> AcknowledgeType.RELEASE);
            }
        });
        step("records deleted under it", () -> {
            admin.deleteRecords(Map.of(PARTITION, RecordsToDelete.beforeOffset(22))).all().get();
            try (var member = member("explicit")) {
                return acknowledge(member, r -> AcknowledgeType.ACCEPT);
            }
        });
        step("delete offsets", () -> {
            admin.deleteShareGroupOffsets(GROUP, Set.of(TOPIC)).all().get();
            return offsets(admin);
        });
        step("start again", () -> {
            try (var member = member("explicit")) {
                return acknowledge(member, r -> AcknowledgeType.ACCEPT);
            }
        });
        step("delete", () -> admin.deleteShareGroups(List.of(GROUP)).all().get());
        step("describe when deleted", () -> admin.describeShareGroups(List.of(GROUP)).all().get());
        step("delete again", () -> admin.deleteShareGroups(List.of(GROUP)).all().get());
    }

    public static void main(String[] arguments) throws Exception {
        broker = arguments[0];
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 1))).all().get();
            configure(admin, "share.auto.offset.reset", "earliest");
            acknowledgements(admin);
            modes();
            administration(admin);
        }
        System.exit(0);
    }
}
