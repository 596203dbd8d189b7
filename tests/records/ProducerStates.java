import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/** Prints, for each line of segments, the aborted transactions and the producers that Kafka has in the end. */
public class ProducerStates {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(stateOf(line.split(" ")));
        }
    }

    private static String stateOf(String[] segments) throws Exception {
        File folder = Files.createTempDirectory("producers").toFile();
        ProducerStateManagerConfig config = new ProducerStateManagerConfig(86400000, false);
        ProducerStateManager manager =
            new ProducerStateManager(new TopicPartition("t", 0), folder, 900000, config, Time.SYSTEM);
        StringBuilder out = new StringBuilder();
        for (String segment : segments) {
            try (FileRecords records = FileRecords.open(new File(segment), false)) {
                for (RecordBatch batch : records.batches()) {
                    if (batch.magic() == 2 && batch.isValid() && batch.hasProducerId()) {
                        append(manager, batch, out);
                    }
                }
            }
        }
        for (ProducerStateEntry entry : new TreeMap<>(manager.activeProducers()).values()) {
            BatchMetadata last = new BatchMetadata(-1, -1, 0, -1);
            for (BatchMetadata batch : entry.batchMetadata()) {
                last = batch;
            }
            out.append(String.format("producer:%d:%d:%d:%d:%d:%d:%d:%d ", entry.producerId(), entry.producerEpoch(),
                last.lastSeq(), entry.lastDataOffset(), last.offsetDelta(), entry.lastTimestamp(),
                entry.coordinatorEpoch(), entry.currentTxnFirstOffset().orElse(-1)));
        }
        return out + "stable:" + manager.firstUndecidedOffset().orElse(-1);
    }

    private static void append(ProducerStateManager manager, RecordBatch batch, StringBuilder out) {
        ProducerAppendInfo info = manager.prepareUpdate(batch.producerId(), AppendOrigin.REPLICATION);
        Optional<CompletedTxn> completed = info.append(batch, Optional.empty());
        manager.update(info);
        completed.ifPresent(transaction -> {
            if (transaction.isAborted()) {
                out.append(String.format("aborted:%d:%d:%d:%d ", transaction.producerId(), transaction.firstOffset(),
                    transaction.lastOffset(), manager.lastStableOffset(transaction)));
            }
            manager.completeTxn(transaction);
        });
        manager.updateMapEndOffset(batch.nextOffset());
    }
}
