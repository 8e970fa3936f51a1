package scenes;

import io.temporal.client.WorkflowClient;
import io.temporal.serviceclient.WorkflowServiceStubs;
import io.temporal.serviceclient.WorkflowServiceStubsOptions;
import io.temporal.worker.WorkerFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A worker and a client of the Java SDK in one process: it plays the scenes that its command line
 * names, and says how each one went, one line of JSON each.
 *
 * <pre>
 *   Main ADDRESS hello signals ...    plays scenes, with a worker of its own
 *   Main ADDRESS worker               works until it is killed
 *   Main ADDRESS begin                starts what a killed worker leaves behind
 *   Main ADDRESS finish               waits for what another worker has made of it
 * </pre>
 */
public final class Main {
  private static final Map<String, Stage.Scene> SCENES = new TreeMap<>();

  static {
    SCENES.put("hello", Features::hello);
    SCENES.put("signals", Features::signals);
    SCENES.put("queries", Features::queries);
    SCENES.put("updates", Features::updates);
    SCENES.put("children", Features::children);
    SCENES.put("timers", Features::timers);
    SCENES.put("continues", Features::continues);
    SCENES.put("local", Features::local);
    SCENES.put("retries", Features::retries);
    SCENES.put("threads", Features::threads);
    SCENES.put("markers", Features::markers);
    SCENES.put("signal_with_start", Features::signalWithStart);
    SCENES.put("evicted", Features::evicted);
    SCENES.put("replay", Features::replay);
    SCENES.put("pushed", Cancels::pushed);
    SCENES.put("terminated", Cancels::terminated);
    SCENES.put("heartbeats", Cancels::heartbeats);
    SCENES.put("by_workflow", Cancels::byWorkflow);
    SCENES.put("cleans_up", Cancels::cleansUp);
    SCENES.put("begin", Cancels::begin);
    SCENES.put("finish", Cancels::finish);
  }

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    var names = Arrays.asList(arguments).subList(1, arguments.length);
    // The first call takes long where there is hardly a processor for all that it has to load.
    var options = WorkflowServiceStubsOptions.newBuilder()
        .setTarget(arguments[0])
        .setRpcTimeout(Duration.ofMinutes(1))
        .build();
    var service = WorkflowServiceStubs.newServiceStubs(options);
    var client = WorkflowClient.newInstance(service);
    var factory = WorkerFactory.newInstance(client);
    var stage = new Stage(client, Stage.worker(factory, Stage.QUEUE));
    if (!List.of("begin", "finish").contains(names.get(0))) {
      factory.start();
    }
    if (names.get(0).equals("worker")) {
      System.out.println("working");
      Thread.currentThread().join();
    }
    for (var name : names) {
      play(stage, name);
    }
    factory.shutdownNow();
    System.exit(0);
  }

  private static void play(Stage stage, String name) throws InterruptedException {
    var thread = Executors.newSingleThreadExecutor();
    var played = thread.submit(() -> {
      SCENES.get(name).play(stage);
      return null;
    });
    Throwable error = null;
    try {
      played.get(2, TimeUnit.MINUTES);
    } catch (ExecutionException failed) {
      error = failed.getCause();
    } catch (TimeoutException late) {
      error = late;
    }
    thread.shutdownNow();
    if (error == null) {
      Stage.say(Map.of("scene", name, "passed", true));
    } else {
      error.printStackTrace();
      Stage.say(Map.of("scene", name, "passed", false, "error", error.toString()));
    }
  }
}
