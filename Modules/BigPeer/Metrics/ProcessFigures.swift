#if Server
  import Foundation

  /// The figures of the process.
  struct ProcessFigures: Sendable {
    private let start = Date().timeIntervalSince1970

    /// All figures of the process; figures that the system does not provide are left out.
    var samples: [SampledFigures.Sample] {
      var samples = [
        SampledFigures.Sample(name: "process_start_time_seconds", kind: .gauge, value: start)
      ]
      #if os(Linux)
        if let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii),
          let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
        {
          samples.append(
            .init(
              name: "process_resident_memory_bytes", kind: .gauge,
              value: pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
          samples.append(.init(name: "process_open_fds", kind: .gauge, value: Double(descriptors)))
        }
      #endif
      var usage = rusage()
      #if os(Linux)
        let isKnown = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0
      #else
        let isKnown = getrusage(RUSAGE_SELF, &usage) == 0
      #endif
      if isKnown {
        let micro = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
        samples.append(
          .init(
            name: "process_cpu_seconds_total", kind: .counter,
            value: Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + micro))
      }
      return samples
    }
  }
#endif
