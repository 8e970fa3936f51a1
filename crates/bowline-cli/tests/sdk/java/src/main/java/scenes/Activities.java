package scenes;

import io.temporal.activity.Activity;
import io.temporal.activity.ActivityInterface;
import io.temporal.client.ActivityCompletionException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Activities as any user of the Java SDK would write them. */
@ActivityInterface
public interface Activities {
  String greet(String name);

  /** Never heartbeats, and goes on until it is told to stop. */
  void silent(String key);

  /** Says that it lives, and has no other way to hear of a cancel. */
  void beating(String key);

  /** Succeeds the third time. */
  int flaky();

  /** Is lost with its worker the first time, and goes on from there the second. */
  String halfWay();

  /** Their code. */
  class Code implements Activities {
    /** What activities of this process have seen, by the key that they were called with. */
    static final Map<String, Long> SEEN = new ConcurrentHashMap<>();

    @Override
    public String greet(String name) {
      return "Hello, " + name + "!";
    }

    @Override
    public void silent(String key) {
      SEEN.put("started " + key, System.nanoTime());
      var token = Activity.getExecutionContext().getCancellationToken();
      // A cancel is a failure of this future.
      token.getCancellationFuture().exceptionally(cancelled -> null).join();
      SEEN.put("cancelled " + key, System.nanoTime());
      token.throwIfCancellationRequested();
    }

    @Override
    public void beating(String key) {
      SEEN.put("started " + key, System.nanoTime());
      try {
        while (true) {
          Activity.getExecutionContext().heartbeat("beat");
          Stage.pause(50);
        }
      } catch (ActivityCompletionException cancelled) {
        SEEN.put("cancelled " + key, System.nanoTime());
        throw cancelled;
      }
    }

    @Override
    public int flaky() {
      int attempt = Activity.getExecutionContext().getInfo().getAttempt();
      if (attempt < 3) {
        throw new IllegalStateException("attempt " + attempt + " fails");
      }
      return attempt;
    }

    @Override
    public String halfWay() {
      var context = Activity.getExecutionContext();
      var point = context.getHeartbeatDetails(String.class);
      if (point.isPresent()) {
        return "went on from " + point.get();
      }
      context.heartbeat("half-way");
      context.getCancellationToken().getCancellationFuture().join();
      return "was not lost";
    }
  }
}
