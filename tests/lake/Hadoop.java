import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Hadoop's file system on this machine, in the folder of the first argument, until standard input ends. */
public class Hadoop {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.setBoolean("dfs.permissions.enabled", false);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf, new File(arguments[0])).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println("READY " + cluster.getNameNodePort() + " " + cluster.getNameNode().getHttpAddress().getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }
}
