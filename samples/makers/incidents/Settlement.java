// An application of Kafka Streams that joins two topics, in the streams protocol. The argument is bootstrap.servers.

import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

public class Settlement {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("application.id", "settlement");
        settings.put("client.id", "settlement");
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.protocol", "streams");
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("metadata.max.age.ms", "60000");
        StreamsBuilder builder = new StreamsBuilder();
        KTable<String, String> payments =
            builder.table("payments", Materialized.as(Stores.inMemoryKeyValueStore("payments")));
        KStream<String, String> orders = builder.stream("orders");
        orders.join(payments, (order, payment) -> order + payment).foreach((key, value) -> {});
        new KafkaStreams(builder.build(), settings).start();
    }
}
