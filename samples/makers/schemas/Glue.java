// Values written by the serializers of AWS Glue's schema registry.
//
// Usage: java -cp JARS Glue.java ORDER.AVSC CUSTOMER.AVSC PAYMENT.PROTO AVRO_BYTES_AS_BASE64
//
// JARS are those of software.amazon.glue:schema-registry-serde. A line of JSON is
// printed for each value. The schemas have the UUIDs 00000000-0000-0000-0000-00000000000N: Avro 1, JSON 2, Protobuf 3.

import com.amazonaws.services.schemaregistry.common.configs.GlueSchemaRegistryConfiguration;
import com.amazonaws.services.schemaregistry.serializers.SerializationDataEncoder;
import com.amazonaws.services.schemaregistry.serializers.avro.AvroSerializer;
import com.amazonaws.services.schemaregistry.serializers.json.JsonDataWithSchema;
import com.amazonaws.services.schemaregistry.serializers.json.JsonSerializer;
import com.amazonaws.services.schemaregistry.serializers.protobuf.ProtobufSerializer;
import com.amazonaws.services.schemaregistry.deserializers.protobuf.ProtobufSchemaParser;
import com.google.protobuf.Descriptors;
import com.google.protobuf.DynamicMessage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;

public class Glue {
    static void print(String name, String format, String part, byte[] data) {
        System.out.println("{\"name\": \"" + name + "\", \"format\": \"" + format + "\", \"topic\": \"orders\", \"part\": \"" + part
            + "\", \"bytes\": \"" + Base64.getEncoder().encodeToString(data) + "\", \"headers\": []}");
    }

    public static void main(String[] arguments) throws Exception {
        Schema.Parser parser = new Schema.Parser();
        parser.parse(Files.readString(Path.of(arguments[1])));
        Schema order = parser.parse(Files.readString(Path.of(arguments[0])));
        GenericRecord record = new GenericDatumReader<GenericRecord>(order)
            .read(null, DecoderFactory.get().binaryDecoder(Base64.getDecoder().decode(arguments[3]), null));
        Descriptors.FileDescriptor file = ProtobufSchemaParser.parse(Files.readString(Path.of(arguments[2])), "payment.proto");
        Descriptors.Descriptor payment = file.findMessageTypeByName("Payment");
        Descriptors.Descriptor part = payment.findNestedTypeByName("Part");
        DynamicMessage cents = DynamicMessage.newBuilder(part).setField(part.findFieldByName("cents"), -5L).build();
        DynamicMessage.Builder message = DynamicMessage.newBuilder(payment);
        message.setField(payment.findFieldByName("id"), "p-1");
        message.setField(payment.findFieldByName("kind"), payment.findEnumTypeByName("Kind").findValueByName("TRANSFER"));
        message.addRepeatedField(payment.findFieldByName("parts"), cents);
        message.setField(payment.findFieldByName("trace"), 1L << 60);
        for (String compression : new String[] {"NONE", "ZLIB"}) {
            GlueSchemaRegistryConfiguration config = new GlueSchemaRegistryConfiguration(
                Map.of("region", "eu-west-1", "compression", compression, "dataFormat", "AVRO"));
            SerializationDataEncoder encoder = new SerializationDataEncoder(config);
            print("avro " + compression, "avro", "value", encoder.write(new AvroSerializer().serialize(record), new UUID(0, 1)));
            JsonDataWithSchema json = JsonDataWithSchema.builder("{\"type\": \"object\"}", "{\"id\": \"o-1\", \"cents\": 1200}").build();
            print("json " + compression, "json-schema", "value", encoder.write(new JsonSerializer(config).serialize(json), new UUID(0, 2)));
            print("protobuf " + compression, "protobuf", "value",
                encoder.write(new ProtobufSerializer(config).serialize(message.build()), new UUID(0, 3)));
            print("protobuf part " + compression, "protobuf", "value",
                encoder.write(new ProtobufSerializer(config).serialize(cents), new UUID(0, 3)));
        }
    }
}
