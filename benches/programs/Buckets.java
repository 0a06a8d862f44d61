// The classic limiter of a Java server: a ConcurrentHashMap of synchronized token buckets.
// A program of the benchmark: it reads lines such as "W3 40000 0", how many calls each
// thread is to make and the first name to ask about, and answers "W3 40000 0 47.1", the
// nanoseconds for a call; to "W7 1000000 0" with the bytes of heap for each of so many keys.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

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
        int run(int thread, int calls);
    }

    static final int KEYS = 1_000_000;
    static final int NAME = 12;
    static final String HOT = "user-hot-key";
    static final String[] FIGURES = {"W1", "W2", "W3", "W4", "W5", "W6", "W8", "W10"};

    static final class Names {
        final String[] keys;
        final String[] zipf;

        Names(String[] keys, String[] zipf) {
            this.keys = keys;
            this.zipf = zipf;
        }
    }

    static final Limiter open = new Limiter(1e9, 1e6);
    static final Limiter closed = new Limiter(1, 86400);
    static final Limiter perUser = new Limiter(1e9, 1e6);
    static final Bucket all = new Limiter(1e9, 1e6).bucket();

    static String key(String user, String api) {
        return user + '\0' + api;
    }

    static int hotOpen(int calls) {
        int allowed = 0;
        for (int i = 0; i < calls; i++) {
            if (open.allow(key(HOT, "/v1/single"))) allowed++;
        }
        return allowed;
    }

    static int hotClosed(int calls) {
        int allowed = 0;
        for (int i = 0; i < calls; i++) {
            if (closed.allow(key(HOT, "/v1/closed"))) allowed++;
        }
        return allowed;
    }

    static int hotThree(int calls) {
        int allowed = 0;
        for (int i = 0; i < calls; i++) {
            if (open.allow(key(HOT, "/v1/limits")) && perUser.allow(HOT) && all.take()) allowed++;
        }
        return allowed;
    }

    static int each(String[] users, int first, int calls) {
        int allowed = 0;
        for (int i = first; i < first + calls; i++) {
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
        AtomicInteger missing = new AtomicInteger(threads);
        double[] times = new double[threads];
        int[] answers = new int[threads];
        Thread[] running = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int thread = i;
            running[i] = new Thread(() -> {
                missing.decrementAndGet();
                while (missing.get() > 0) Thread.onSpinWait();
                long began = System.nanoTime();
                answers[thread] = work.run(thread, calls);
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

    static double figure(String name, int calls, int first, Names names) throws Exception {
        Work each = (t, n) -> each(names.keys, first + t * n, n);
        Work zipf = (t, n) -> each(names.zipf, first + t * n, n);
        switch (name) {
            case "W1": return time(1, calls, calls, (t, n) -> hotOpen(n));
            case "W2": return time(1, calls, 0, (t, n) -> hotClosed(n));
            case "W3": return time(1, calls, calls, each);
            case "W4": return time(2, calls, calls, (t, n) -> hotOpen(n));
            case "W5": return time(2, calls, 0, (t, n) -> hotClosed(n));
            case "W6": return time(2, calls, calls, each);
            case "W8": return time(2, calls, calls, zipf);
            case "W10": return time(1, calls, calls, (t, n) -> hotThree(n));
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
            String digits = Integer.toString(100_000_000 + n).substring(1);
            open.allow(key("user" + digits, "/v1/orders"));
        }
    }

    static double bytesPerKey(int keys) {
        long before = heap();
        fill(keys);
        return (heap() - before) / (double) keys;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        Names names = null;
        String line;
        while ((line = questions.readLine()) != null) {
            String[] words = line.split(" ");
            int number = Integer.parseInt(words[1]);
            int first = Integer.parseInt(words[2]);
            double answer;
            if (words[0].equals("W7")) {
                answer = bytesPerKey(number);
            } else {
                if (names == null) names = begin(Path.of(arguments[0]));
                answer = figure(words[0], number, first, names);
            }
            System.out.printf(Locale.ROOT, "%s %.2f%n", line, answer);
        }
    }

    // Knows all keys, and has run everything until the compiler has done with it.
    static Names begin(Path directory) throws Exception {
        fill(KEYS);
        closed.allow(key(HOT, "/v1/closed"));
        Names names = new Names(read(directory.resolve("keys")), read(directory.resolve("zipf")));
        for (int i = 0; i < 3; i++) {
            for (String name : FIGURES) figure(name, KEYS / 2, 0, names);
        }
        System.gc();
        return names;
    }
}
