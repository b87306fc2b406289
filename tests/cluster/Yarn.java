import java.io.File;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.*;
import org.apache.hadoop.yarn.api.protocolrecords.*;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.ipc.YarnRPC;
import org.apache.hadoop.yarn.util.FSDownload;
import org.apache.hadoop.yarn.util.Records;

/**
 * As much of YARN as one application of Spark's asks for, by Hadoop's own protocols: {@code rm HOST
 * NODE...} gives containers to whoever asks, on one node after the other; {@code nm HOST FOLDER}
 * brings their files there and starts them, as a node manager does.
 */
public class Yarn {
    static final int CLIENTS = 8032, MASTERS = 8030, NODES = 8041;
    static final Configuration CONF = new YarnConfiguration();

    interface Answers {
        Object to(String method, Object request) throws Exception;
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("rm")) {
            new Resources(words[1], List.of(words).subList(2, words.length));
        } else {
            new Node(words[1], Path.of(words[2]));
        }
        Thread.currentThread().join();
    }

    /** A server of one of YARN's protocols; what is not answered is said to whoever asks. */
    static <T> void serve(Class<T> protocol, String host, int port, Answers answers) {
        Object made = Proxy.newProxyInstance(protocol.getClassLoader(), new Class<?>[] {protocol},
            (proxy, method, given) -> {
                Object told = answers.to(method.getName(), given[0]);
                if (told == null) {
                    throw new UnsupportedOperationException(method.getName());
                }
                return told;
            });
        YarnRPC.create(CONF).getServer(protocol, made, new InetSocketAddress(host, port), CONF, null, 4)
            .start();
    }

    static Token token(String kind, String content) {
        return Token.newInstance(content.getBytes(), kind, new byte[0], "");
    }

    /** The resource manager. */
    static class Resources {
        final List<NodeId> nodes = new ArrayList<>();
        final Resource most = Resource.newInstance(8192, 8);
        final ApplicationId id = ApplicationId.newInstance(System.currentTimeMillis(), 1);
        final ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
        final AtomicInteger given = new AtomicInteger();
        volatile YarnApplicationState state = YarnApplicationState.NEW;
        volatile ApplicationSubmissionContext application;

        Resources(String host, List<String> hosts) {
            hosts.forEach(node -> nodes.add(NodeId.newInstance(node, NODES)));
            serve(ApplicationClientProtocol.class, host, CLIENTS, this::toClient);
            serve(ApplicationMasterProtocol.class, host, MASTERS, this::toMaster);
        }

        Container container(Resource size, Priority priority) {
            int number = given.getAndIncrement();
            NodeId node = nodes.get(number % nodes.size());
            ContainerId name = ContainerId.newContainerId(attempt, number + 1);
            return Container.newInstance(name, node, node.getHost() + ":0", size, priority,
                token("ContainerToken", name.toString()));
        }

        Object toClient(String method, Object request) throws Exception {
            switch (method) {
                case "getClusterMetrics":
                    return GetClusterMetricsResponse.newInstance(
                        YarnClusterMetrics.newInstance(nodes.size()));
                case "getNewApplication":
                    return GetNewApplicationResponse.newInstance(id, Resource.newInstance(1, 1), most);
                case "submitApplication":
                    application = ((SubmitApplicationRequest) request).getApplicationSubmissionContext();
                    state = YarnApplicationState.ACCEPTED;
                    Container first = container(application.getResource(), Priority.newInstance(0));
                    NodeId node = first.getNodeId();
                    ContainerManagementProtocol there = (ContainerManagementProtocol) YarnRPC.create(CONF)
                        .getProxy(ContainerManagementProtocol.class,
                            new InetSocketAddress(node.getHost(), node.getPort()), CONF);
                    there.startContainers(StartContainersRequest.newInstance(
                        List.of(StartContainerRequest.newInstance(
                            application.getAMContainerSpec(), first.getContainerToken()))));
                    return Records.newRecord(SubmitApplicationResponse.class);
                case "getApplicationReport":
                    return GetApplicationReportResponse.newInstance(report());
                case "forceKillApplication":
                    state = YarnApplicationState.KILLED;
                    return KillApplicationResponse.newInstance(true);
                default:
                    return null;
            }
        }

        ApplicationReport report() {
            FinalApplicationStatus end = state == YarnApplicationState.FINISHED
                ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.UNDEFINED;
            return ApplicationReport.newInstance(id, attempt, "root", "default",
                application.getApplicationName(), nodes.get(0).getHost(), 0, null, state, "", "", 0L, 0L,
                0L, end, null, "", 0f, "SPARK", null);
        }

        Object toMaster(String method, Object request) {
            switch (method) {
                case "registerApplicationMaster":
                    state = YarnApplicationState.RUNNING;
                    return RegisterApplicationMasterResponse.newInstance(Resource.newInstance(1, 1), most,
                        Map.of(), ByteBuffer.allocate(0), List.of(), "default", List.of());
                case "allocate":
                    List<Container> found = new ArrayList<>();
                    List<NMToken> tokens = new ArrayList<>();
                    AllocateRequest asked = (AllocateRequest) request;
                    for (ResourceRequest one : asked.getAskList()) {
                        boolean anywhere = ResourceRequest.ANY.equals(one.getResourceName());
                        for (int n = 0; anywhere && n < one.getNumContainers(); n++) {
                            Container made = container(one.getCapability(), one.getPriority());
                            made.setAllocationRequestId(one.getAllocationRequestId());
                            found.add(made);
                            tokens.add(NMToken.newInstance(made.getNodeId(), token("NMToken", "")));
                        }
                    }
                    return AllocateResponse.newBuilder().responseId(asked.getResponseId() + 1)
                        .allocatedContainers(found).nmTokens(tokens).updatedNodes(List.of())
                        .completedContainersStatuses(List.of()).availableResources(most)
                        .numClusterNodes(nodes.size()).build();
                case "finishApplicationMaster":
                    state = YarnApplicationState.FINISHED;
                    return FinishApplicationMasterResponse.newInstance(true);
                default:
                    return null;
            }
        }
    }

    /** A node manager. */
    static class Node {
        final String host;
        final Path folder;
        final Map<String, Process> running = new ConcurrentHashMap<>();

        Node(String host, Path folder) {
            this.host = host;
            this.folder = folder;
            serve(ContainerManagementProtocol.class, host, NODES, this::answer);
        }

        Object answer(String method, Object request) throws Exception {
            switch (method) {
                case "startContainers":
                    List<ContainerId> started = new ArrayList<>();
                    for (StartContainerRequest one : ((StartContainersRequest) request)
                            .getStartContainerRequests()) {
                        byte[] name = new byte[one.getContainerToken().getIdentifier().remaining()];
                        one.getContainerToken().getIdentifier().get(name);
                        start(new String(name), one.getContainerLaunchContext());
                        started.add(ContainerId.fromString(new String(name)));
                    }
                    return StartContainersResponse.newInstance(Map.of(), started, Map.of());
                case "stopContainers":
                    List<ContainerId> stopped = ((StopContainersRequest) request).getContainerIds();
                    stopped.forEach(one -> running.get(one.toString()).destroy());
                    return StopContainersResponse.newInstance(stopped, Map.of());
                default:
                    return null;
            }
        }

        void start(String name, ContainerLaunchContext told) throws Exception {
            Path work = Files.createDirectories(folder.resolve(name));
            FileContext files = FileContext.getLocalFSFileContext(CONF);
            UserGroupInformation user = UserGroupInformation.getCurrentUser();
            Path own = Files.createDirectories(folder.resolve(name + "-files"));
            int number = 0;
            for (Map.Entry<String, LocalResource> one : told.getLocalResources().entrySet()) {
                String into = "file:" + own.resolve("" + number++);
                org.apache.hadoop.fs.Path brought = new FSDownload(files, user, new Configuration(CONF),
                    new org.apache.hadoop.fs.Path(into), one.getValue()).call();
                Files.createSymbolicLink(work.resolve(one.getKey()), Path.of(brought.toUri().getPath()));
            }
            Map<String, String> given = new LinkedHashMap<>();
            given.put("CONTAINER_ID", name);
            given.put("NM_HOST", host);
            given.put("NM_PORT", "" + NODES);
            given.put("NM_HTTP_PORT", "0");
            given.put("PWD", work.toString());
            given.put("USER", user.getShortUserName());
            given.put("LOG_DIRS", work.toString());
            given.put("LOCAL_DIRS", Files.createDirectories(folder.resolve("local")).toString());
            given.put("JAVA_HOME", System.getProperty("java.home"));
            StringBuilder script = new StringBuilder("cd " + work + "\n");
            given.putAll(told.getEnvironment());
            given.forEach((key, value) ->
                script.append("export " + key + "=\"" + plain(value, work).replace("\"", "\\\"") + "\"\n"));
            script.append("exec " + plain(String.join(" ", told.getCommands()), work) + "\n");
            Path program = Files.writeString(work.resolve("launch.sh"), script);
            running.put(name, new ProcessBuilder("bash", program.toString()).directory(work.toFile())
                .redirectErrorStream(true).redirectOutput(new File(work + "/launch.log")).start());
        }

        String plain(String text, Path work) {
            return text.replace("<LOG_DIR>", work.toString()).replace("<CPS>", ":")
                .replaceAll("\\{\\{(\\w+)}}", "\\$$1");
        }
    }
}
