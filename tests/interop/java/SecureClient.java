import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** For each file of settings: sends a value, reads it back, and writes a line: the file, a tab, what came of it. */
public class SecureClient {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[0];
        for (String file : List.of(arguments).subList(1, arguments.length)) {
            Properties settings = new Properties();
            try (FileReader reader = new FileReader(file, StandardCharsets.UTF_8)) {
                settings.load(reader);
            }
            if (settings.containsKey("token")) {
                settings.put("sasl.login.callback.handler.class", TokenHandler.class);
            }
            String outcome;
            try {
                outcome = passThrough(settings, topic, file);
            } catch (ExecutionException e) {
                outcome = e.getCause().getClass().getSimpleName() + ": " + e.getCause().getMessage();
            } catch (Exception e) {
                outcome = e.getClass().getSimpleName() + ": " + e.getMessage();
            }
            System.out.println(file + "\t" + outcome);
        }
    }

    /** Shows the token of the settings; Kafka's own handlers need libraries that its client comes without. */
    public static class TokenHandler implements AuthenticateCallbackHandler {
        private String token;

        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
            token = (String) entries.get(0).getOptions().get("token");
        }

        @Override
        public void handle(Callback[] callbacks) {
            for (Callback callback : callbacks) {
                if (callback instanceof OAuthBearerTokenCallback asked) {
                    asked.token(new Token(token));
                }
            }
        }

        @Override
        public void close() {}
    }

    private record Token(String value) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return System.currentTimeMillis() + 600_000;
        }

        @Override
        public String principalName() {
            return "alice";
        }

        @Override
        public Long startTimeMs() {
            return System.currentTimeMillis();
        }
    }

    private static String passThrough(Properties settings, String topic, String value) throws Exception {
        long sendForMs = Long.parseLong(settings.getProperty("send.for.ms", "0"));
        long offset;
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            long ends = System.currentTimeMillis() + sendForMs;
            do {
                offset = producer.send(new ProducerRecord<>(topic, 0, null, value)).get().offset();
            } while (System.currentTimeMillis() < ends);
        }
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            TopicPartition first = new TopicPartition(topic, 0);
            consumer.assign(List.of(first));
            consumer.seek(first, offset);
            return consumer.poll(Duration.ofSeconds(20)).iterator().next().value().equals(value) ? "good" : "wrong";
        }
    }
}
