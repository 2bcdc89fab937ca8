import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;

/** What `kafka-metadata-quorum --bootstrap-controller` and `kafka-features upgrade --release-version 4.3` send. */
public class OperatorClient {
    private static final Map<String, Integer> OF_RELEASE_4_3 = Map.of(
        "metadata.version", 30, "kraft.version", 1, "transaction.version", 2, "group.version", 1,
        "eligible.leader.replicas.version", 1, "share.version", 1, "streams.version", 1);

    private static Admin admin(String setting, String address) {
        Properties settings = new Properties();
        settings.put(setting, address);
        return Admin.create(settings);
    }

    private static String levels(Admin admin) throws Exception {
        Map<String, String> levels = new TreeMap<>();
        admin.describeFeatures().featureMetadata().get().finalizedFeatures()
            .forEach((name, range) -> levels.put(name, String.valueOf(range.maxVersionLevel())));
        return levels.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).collect(Collectors.joining(" "));
    }

    public static void main(String[] arguments) throws Exception {
        try (Admin admin = admin("bootstrap.controllers", arguments[0])) {
            QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
            System.out.println("quorum\t" + quorum.leaderId() + " " + quorum.voters().size());
            System.out.println("controllers\t" + admin.describeCluster().nodes().get().size());
        }
        try (Admin admin = admin("bootstrap.servers", arguments[0])) {
            System.out.println("before\t" + levels(admin));
            Map<String, FeatureUpdate> updates = OF_RELEASE_4_3.entrySet().stream().collect(Collectors.toMap(
                Map.Entry::getKey,
                e -> new FeatureUpdate(e.getValue().shortValue(), FeatureUpdate.UpgradeType.UPGRADE)));
            admin.updateFeatures(updates, new UpdateFeaturesOptions()).all().get();
            System.out.println("after\t" + levels(admin));
        }
    }
}
