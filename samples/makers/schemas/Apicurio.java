// Values written by Apicurio's serializers for Kafka.
//
// Usage: java -cp JARS Apicurio.java ORDER.AVSC CUSTOMER.AVSC ORDER.JSON PAYMENT.PROTO AVRO_BYTES_AS_BASE64
//
// JARS are those of apicurio-registry-{avro,jsonschema,protobuf}-serde-kafka. A line of JSON is printed for each value:
// its name, format, bytes and headers. The Avro value is the one of these bytes.

import com.google.protobuf.Descriptors;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.apicurio.registry.resolver.ParsedSchema;
import io.apicurio.registry.resolver.ParsedSchemaImpl;
import io.apicurio.registry.resolver.SchemaLookupResult;
import io.apicurio.registry.resolver.SchemaParser;
import io.apicurio.registry.resolver.SchemaResolver;
import io.apicurio.registry.resolver.client.RegistryClientFacade;
import io.apicurio.registry.resolver.data.Record;
import io.apicurio.registry.resolver.strategy.ArtifactReference;
import io.apicurio.registry.resolver.strategy.ArtifactReferenceResolverStrategy;
import io.apicurio.registry.serde.Legacy8ByteIdHandler;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaParser;
import io.apicurio.registry.serde.kafka.KafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufSchemaParser;
import io.apicurio.registry.utils.protobuf.schema.ProtobufSchema;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

public class Apicurio {
    /** A registry of one schema: of content 11 and global id 21. */
    static class One<S, U> implements SchemaResolver<S, U> {
        final SchemaParser<S, U> parser;
        final SchemaLookupResult<S> result;

        One(SchemaParser<S, U> parser, S schema, byte[] raw, long content) {
            this.parser = parser;
            ParsedSchema<S> parsed = new ParsedSchemaImpl<S>().setParsedSchema(schema).setRawSchema(raw);
            result = SchemaLookupResult.<S>builder().contentId(content).globalId(content + 10).groupId("default")
                .artifactId("a").version("1").parsedSchema(parsed).build();
        }

        @Override public void setClientFacade(RegistryClientFacade facade) { }
        @Override public void setArtifactResolverStrategy(ArtifactReferenceResolverStrategy<S, U> strategy) { }
        @Override public SchemaParser<S, U> getSchemaParser() { return parser; }
        @Override public SchemaLookupResult<S> resolveSchema(Record<U> record) { return result; }
        @Override public SchemaLookupResult<S> resolveSchemaByArtifactReference(ArtifactReference reference) { return result; }
        @Override public void reset() { }
        @Override public void close() { }
    }

    static byte[] bytes(String name) throws Exception {
        return Files.readAllBytes(Path.of(name));
    }

    static <U> void write(String name, String format, KafkaSerializer<?, U> serializer, Map<String, Object> config, U value) {
        for (boolean key : new boolean[] {false, true}) {
            Map<String, Object> all = new HashMap<>(config);
            all.put("apicurio.registry.url", "http://localhost:1");
            all.put("apicurio.registry.serde.validation-enabled", "false");
            serializer.configure(all, key);
            RecordHeaders headers = new RecordHeaders();
            byte[] data = serializer.serialize("orders", headers, value);
            StringBuilder out = new StringBuilder();
            for (Header header : headers) {
                out.append(out.isEmpty() ? "" : ", ").append("[\"" + header.key() + "\", \"" + text(header.value()) + "\"]");
            }
            String part = key ? "key" : "value";
            System.out.println("{\"name\": \"" + name + " " + part + "\", \"format\": \"" + format + "\", \"topic\": \"orders\", \"part\": \""
                + part + "\", \"bytes\": \"" + text(data) + "\", \"headers\": [" + out + "]}");
        }
    }

    static String text(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }

    public static void main(String[] arguments) throws Exception {
        Schema.Parser parser = new Schema.Parser();
        parser.parse(new String(bytes(arguments[1]), StandardCharsets.UTF_8));
        Schema order = parser.parse(new String(bytes(arguments[0]), StandardCharsets.UTF_8));
        GenericRecord record = new GenericDatumReader<GenericRecord>(order)
            .read(null, DecoderFactory.get().binaryDecoder(Base64.getDecoder().decode(arguments[4]), null));
        JsonSchemaParser<Map<String, Object>> jsonParser = new JsonSchemaParser<>();
        byte[] json = bytes(arguments[2]);
        ProtobufSchemaParser<Message> protoParser = new ProtobufSchemaParser<>();
        byte[] proto = bytes(arguments[3]);
        ProtobufSchema protobuf = protoParser.parseSchema(proto, Map.of());
        Descriptors.Descriptor payment = protobuf.getFileDescriptor().findMessageTypeByName("Payment");
        Descriptors.Descriptor part = payment.findNestedTypeByName("Part");
        DynamicMessage.Builder message = DynamicMessage.newBuilder(payment);
        message.setField(payment.findFieldByName("id"), "p-1");
        message.setField(payment.findFieldByName("kind"), payment.findEnumTypeByName("Kind").findValueByName("TRANSFER"));
        message.addRepeatedField(payment.findFieldByName("parts"), DynamicMessage.newBuilder(part).setField(part.findFieldByName("cents"), -5L).build());
        message.setField(payment.findFieldByName("trace"), 1L << 60);
        Map<String, Object> card = new LinkedHashMap<>(Map.of("id", "o-1"));
        card.put("cents", 1200);
        Map<String, Map<String, Object>> ways = new LinkedHashMap<>();
        ways.put("4 bytes", Map.of());
        ways.put("8 bytes", Map.of("apicurio.registry.id-handler", Legacy8ByteIdHandler.class.getName()));
        ways.put("8 bytes global", Map.of("apicurio.registry.id-handler", Legacy8ByteIdHandler.class.getName(), "apicurio.registry.use-id", "globalId"));
        ways.put("headers", Map.of("apicurio.registry.headers.enabled", "true"));
        ways.put("headers global", Map.of("apicurio.registry.headers.enabled", "true", "apicurio.registry.use-id", "globalId"));
        for (Map.Entry<String, Map<String, Object>> way : ways.entrySet()) {
            One<Schema, GenericRecord> avros = new One<>(null, order, bytes(arguments[0]), 11);
            write("avro " + way.getKey(), "avro", new AvroKafkaSerializer<GenericRecord>(avros), way.getValue(), record);
            One<com.networknt.schema.JsonSchema, Map<String, Object>> jsons = new One<>(jsonParser, null, json, 12);
            write("json " + way.getKey(), "json-schema", new JsonSchemaKafkaSerializer<>(jsons), way.getValue(), card);
            One<ProtobufSchema, Message> protos = new One<>(protoParser, protobuf, proto, 13);
            write("protobuf " + way.getKey(), "protobuf", new ProtobufKafkaSerializer<Message>(protos), way.getValue(), message.build());
        }
    }
}
