// Kafka's own reader in a warmed loop on one thread. Reads "<what> <seconds>" from standard input, answers each line with "<ns a message> <checksum>".
// what: metadata-9 .. metadata-12, mix. The argument is the folder with the data.
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import java.util.function.LongSupplier;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.*;

public class Reader {
    static long sink;

    static MetadataResponseData metadata(byte[] body, short version) { return new MetadataResponseData(new ByteBufferAccessor(ByteBuffer.wrap(body)), version); }

    static long leaders(MetadataResponseData m) {
        long sum = 0;
        for (var topic : m.topics()) for (var partition : topic.partitions()) sum += partition.leaderId();
        return sum;
    }

    record Body(ApiMessageType type, short version, byte[] bytes) {
        ApiMessage read() {
            ApiMessage m = type.newResponse();
            m.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
            return m;
        }
    }

    static List<Body> mix(Path file) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file));
        List<Body> out = new ArrayList<>();
        while (in.hasRemaining()) {
            ApiMessageType type = ApiMessageType.fromApiKey(in.getShort());
            short version = in.getShort();
            byte[] bytes = new byte[in.getInt()];
            in.get(bytes);
            out.add(new Body(type, version, bytes));
        }
        return out;
    }

    public static void main(String[] args) throws Exception {
        Path dir = Path.of(args[0]);
        Map<String, LongSupplier> passes = new HashMap<>();
        Map<String, Integer> units = new HashMap<>();
        Map<String, Long> checks = new HashMap<>();
        for (short v = 9; v <= 12; v++) {
            byte[] body = Files.readAllBytes(dir.resolve("metadata-response-v" + v + ".bin"));
            short version = v;
            passes.put("metadata-" + v, () -> { long sum = 0; for (int i = 0; i < 1000; i++) sum += metadata(body, version).topics().size(); return sum; });
            units.put("metadata-" + v, 1000);
            checks.put("metadata-" + v, leaders(metadata(body, version)));
        }
        List<Body> bodies = mix(dir.resolve("responses-mix-4.4.0.bin"));
        passes.put("mix", () -> { long sum = 0; for (Body body : bodies) sum += body.read().apiKey(); return sum; });
        units.put("mix", bodies.size());
        checks.put("mix", (long) bodies.size());

        System.out.println("java " + System.getProperty("java.version"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            LongSupplier pass = passes.get(words[0]);
            double seconds = Double.parseDouble(words[1]);
            long start = System.nanoTime(), now;
            int n = 0;
            do { sink += pass.getAsLong(); n++; } while ((now = System.nanoTime()) - start < seconds * 1e9);
            System.out.printf(Locale.ROOT, "%.2f %d%n", (now - start) / (double) n / units.get(words[0]), checks.get(words[0]));
        }
        if (sink == 42) System.err.println();
    }
}
