// Kafka's own reader of record batches in a warmed loop on one thread. Reads "<file> <0 or 1: check CRCs> <seconds>" from standard input, answers each line
// with "<ns a record> <records> <sum of offsets> <bytes of keys> <of values> <of header keys and values>".
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.CloseableIterator;

public class Records {
    static final BufferSupplier BUFFERS = BufferSupplier.create();
    static long count, offsets, keys, values, headers;

    /** Keys and values are slices, of which nothing is copied; header keys become strings and header values arrays, as this class has it. */
    static void pass(byte[] data, boolean crc) {
        count = offsets = keys = values = headers = 0;
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            if (crc) batch.ensureValid();
            try (CloseableIterator<Record> records = batch.streamingIterator(BUFFERS)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    count++;
                    offsets += record.offset();
                    keys += record.key().remaining();
                    values += record.value().remaining();
                    for (Header header : record.headers()) headers += header.key().length() + header.value().length;
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, byte[]> files = new HashMap<>();
        System.out.println("java " + System.getProperty("java.version"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (!files.containsKey(words[0])) files.put(words[0], Files.readAllBytes(Path.of(words[0])));
            byte[] data = files.get(words[0]);
            double seconds = Double.parseDouble(words[2]);
            long start = System.nanoTime(), now;
            int n = 0;
            do { pass(data, words[1].equals("1")); n++; } while ((now = System.nanoTime()) - start < seconds * 1e9);
            System.out.printf(Locale.ROOT, "%.3f %d %d %d %d %d%n", (now - start) / (double) n / count, count, offsets, keys, values, headers);
        }
    }
}
