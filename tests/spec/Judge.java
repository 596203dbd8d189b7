// Judges message definitions with Kafka's own generator. Standard input names one file per line; standard output has
// one line per file: "accepted", or the error. Type generators get an empty other half of a pair.

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.InputStreamReader;
import java.io.Writer;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.message.MessageClassGenerator;
import org.apache.kafka.message.MessageGenerator;
import org.apache.kafka.message.MessageSpec;
import org.apache.kafka.message.MessageSpecType;
import org.apache.kafka.message.TypeClassGenerator;

public class Judge {
    private static final String HALF = "\"apiKey\": %d, \"validVersions\": \"0\", \"flexibleVersions\": \"none\"}";
    private static final Map<MessageSpecType, String> OTHER_HALVES = Map.of(
        MessageSpecType.REQUEST, "{\"name\": \"OtherResponse\", \"type\": \"response\", " + HALF,
        MessageSpecType.RESPONSE, "{\"name\": \"OtherRequest\", \"type\": \"request\", " + HALF,
        MessageSpecType.COORDINATOR_KEY, "{\"name\": \"OtherValue\", \"type\": \"coordinator-value\", " + HALF,
        MessageSpecType.COORDINATOR_VALUE, "{\"name\": \"OtherKey\", \"type\": \"coordinator-key\", " + HALF);

    public static void main(String[] arguments) throws Exception {
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            System.out.println(judge(new File(path)));
        }
    }

    private static String judge(File file) {
        try {
            generate(MessageGenerator.JSON_SERDE.readValue(file, MessageSpec.class));
            return "accepted";
        } catch (Exception | StackOverflowError error) {
            return "refused: " + error.toString().replaceAll("\\s+", " ");
        }
    }

    private static void generate(MessageSpec spec) throws Exception {
        if (spec.hasValidVersion()) {
            List<String> names = List.of("MessageDataGenerator", "JsonConverterGenerator");
            for (Object generator : generators("createMessageClassGenerators", names)) {
                ((MessageClassGenerator) generator).generateAndWrite(spec, new BufferedWriter(Writer.nullWriter()));
            }
        }
        for (Object object : generators("createTypeClassGenerators", typeGenerators(spec))) {
            TypeClassGenerator generator = (TypeClassGenerator) object;
            generator.registerMessageType(spec);
            String other = OTHER_HALVES.get(spec.type());
            if (other != null) {
                String half = String.format(other, spec.apiKey().get());
                generator.registerMessageType(MessageGenerator.JSON_SERDE.readValue(half, MessageSpec.class));
            }
            generator.generateAndWrite(new BufferedWriter(Writer.nullWriter()));
        }
    }

    private static List<String> typeGenerators(MessageSpec spec) {
        return switch (spec.type()) {
            case METADATA -> List.of("MetadataRecordTypeGenerator", "MetadataJsonConvertersGenerator");
            case COORDINATOR_KEY, COORDINATOR_VALUE ->
                List.of("CoordinatorRecordTypeGenerator", "CoordinatorRecordJsonConvertersGenerator");
            default -> List.of("ApiMessageTypeGenerator");
        };
    }

    private static List<?> generators(String method, List<String> names) throws Exception {
        Method create = MessageGenerator.class.getDeclaredMethod(method, String.class, List.class);
        create.setAccessible(true);
        return (List<?>) create.invoke(null, "kafka", names);
    }
}
