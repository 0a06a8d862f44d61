// The classic limiter of a Java server: a ConcurrentHashMap of synchronized token buckets.
// A program of the benchmark: it reads lines such as "W1" and answers "W1 47.1", the
// nanoseconds for a call; to "W7 1000000" with the bytes of heap for each of so many keys.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;

final class Buckets {
    static final class Bucket {
        private final double capacity;
        private final double perNano;
        private double tokens;
        private long last = System.nanoTime();

        Bucket(double capacity, double perNano) {
            this.capacity = capacity;
            this.perNano = perNano;
            this.tokens = capacity;
        }

        synchronized boolean take() {
            long now = System.nanoTime();
            tokens = Math.min(capacity, tokens + (now - last) * perNano);
            last = now;
            if (tokens < 1) {
                return false;
            }
            tokens -= 1;
            return true;
        }
    }

    static final class Limiter {
        private final ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();
        private final double capacity;
        private final double perNano;

        Limiter(double capacity, double seconds) {
            this.capacity = capacity;
            this.perNano = capacity / seconds / 1e9;
        }

        Bucket bucket() {
            return new Bucket(capacity, perNano);
        }

        boolean allow(String key) {
            Bucket bucket = buckets.get(key);
            if (bucket == null) {
                // Only then: it may lock a part of the map even where the key is there.
                bucket = buckets.computeIfAbsent(key, missing -> bucket());
            }
            return bucket.take();
        }
    }

    interface Work {
        int run(int thread, int threads);
    }

    static final int CALLS = 1_000_000;
    static final int NAME = 12;
    static final String HOT = "user-hot-key";
    static final String[] FIGURES = {"W1", "W2", "W3", "W4", "W5", "W6", "W8", "W10"};

    static final Limiter open = new Limiter(1e9, 1);
    static final Limiter closed = new Limiter(1, 36500 * 86400.0);
    static final Limiter perUser = new Limiter(1e9, 60);
    static final Bucket all = new Limiter(1e9, 3600).bucket();

    static String key(String user, String api) {
        return user + '\0' + api;
    }

    static int hotOpen() {
        int allowed = 0;
        for (int i = 0; i < CALLS; i++) {
            if (open.allow(key(HOT, "/v1/orders"))) allowed++;
        }
        return allowed;
    }

    static int hotClosed() {
        int allowed = 0;
        for (int i = 0; i < CALLS; i++) {
            if (closed.allow(key(HOT, "/v1/closed"))) allowed++;
        }
        return allowed;
    }

    static int hotThree() {
        int allowed = 0;
        for (int i = 0; i < CALLS; i++) {
            if (open.allow(key(HOT, "/v1/limits")) && perUser.allow(HOT) && all.take()) allowed++;
        }
        return allowed;
    }

    static int each(String[] users, int thread, int threads) {
        int allowed = 0;
        int share = users.length / threads;
        for (int i = share * thread; i < share * (thread + 1); i++) {
            if (open.allow(key(users[i], "/v1/orders"))) allowed++;
        }
        return allowed;
    }

    // Strings are made in the order of their use, so they lie in it.
    static String[] read(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        String[] names = new String[bytes.length / NAME];
        for (int i = 0; i < names.length; i++) {
            names[i] = new String(bytes, i * NAME, NAME, StandardCharsets.ISO_8859_1);
        }
        return names;
    }

    // Nanoseconds for a call, in a thread's own time: the mean of the threads'.
    static double time(int threads, int calls, int allowed, Work work) throws Exception {
        CyclicBarrier start = new CyclicBarrier(threads);
        double[] times = new double[threads];
        int[] answers = new int[threads];
        Thread[] running = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int thread = i;
            running[i] = new Thread(() -> {
                try {
                    start.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                long began = System.nanoTime();
                answers[thread] = work.run(thread, threads);
                times[thread] = System.nanoTime() - began;
            });
            running[i].start();
        }
        double sum = 0;
        for (int i = 0; i < threads; i++) {
            running[i].join();
            if (answers[i] != allowed) throw new IllegalStateException("allowed " + answers[i]);
            sum += times[i] / calls;
        }
        return sum / threads;
    }

    static double figure(String name, String[] keys, String[] zipf) throws Exception {
        closed.allow(key(HOT, "/v1/closed"));
        int half = keys.length / 2;
        switch (name) {
            case "W1": return time(1, CALLS, CALLS, (t, n) -> hotOpen());
            case "W2": return time(1, CALLS, 0, (t, n) -> hotClosed());
            case "W3": return time(1, keys.length, keys.length, (t, n) -> each(keys, t, n));
            case "W4": return time(2, CALLS, CALLS, (t, n) -> hotOpen());
            case "W5": return time(2, CALLS, 0, (t, n) -> hotClosed());
            case "W6": return time(2, half, half, (t, n) -> each(keys, t, n));
            case "W8": return time(2, half, half, (t, n) -> each(zipf, t, n));
            case "W10": return time(1, CALLS, CALLS, (t, n) -> hotThree());
            default: throw new IllegalArgumentException(name);
        }
    }

    static long heap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    // In an order that is not that of use: buckets would else lie as the calls come.
    static void fill(int keys) {
        for (int n = 0; n < keys; n++) {
            String digits = Integer.toString(10_000_000 + n).substring(1);
            open.allow(key("user-" + digits, "/v1/orders"));
        }
    }

    static double bytesPerKey(int keys) {
        long before = heap();
        fill(keys);
        return (heap() - before) / (double) keys;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        String[] keys = null;
        String[] zipf = null;
        String line;
        while ((line = questions.readLine()) != null) {
            double answer;
            if (line.startsWith("W7 ")) {
                answer = bytesPerKey(Integer.parseInt(line.substring(3)));
            } else {
                if (keys == null) {
                    fill(CALLS);
                    keys = read(Path.of(arguments[0], "keys"));
                    zipf = read(Path.of(arguments[0], "zipf"));
                    warmUp(keys, zipf);
                }
                answer = figure(line, keys, zipf);
            }
            System.out.printf(Locale.ROOT, "%s %.2f%n", line, answer);
        }
    }

    // Until the compiler has done with everything.
    static void warmUp(String[] keys, String[] zipf) throws Exception {
        for (int i = 0; i < 3; i++) {
            for (String name : FIGURES) figure(name, keys, zipf);
        }
        System.gc();
    }
}
