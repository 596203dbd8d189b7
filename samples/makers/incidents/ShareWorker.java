import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a share group that acknowledges each third offset in another way: ShareWorker SERVER GROUP TYPE. */
public class ShareWorker {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("client.id", "share-1");
        settings.put("group.id", arguments[1]);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("fetch.max.wait.ms", "2000");
        AcknowledgeType type = AcknowledgeType.valueOf(arguments[2]);
        long until = System.currentTimeMillis() + 34_000;
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaShareConsumer<byte[], byte[]>(settings, bytes, bytes)) {
            consumer.subscribe(List.of("orders"));
            while (System.currentTimeMillis() < until) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(500));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    consumer.acknowledge(record, record.offset() % 3 == 0 ? type : AcknowledgeType.ACCEPT);
                }
                consumer.commitSync();
            }
        }
    }
}
