import Foundation

/// Clocks and counters of the operating system.
package enum Measures {
  /// Nanoseconds of a clock that never jumps and that all processes of the machine share.
  package static var nanoseconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  /// Nanoseconds of processor time of this thread, which other work on the machine disturbs least.
  package static var threadNanoseconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  /// User and system time of this process, in seconds.
  package static var cpuSeconds: Double {
    let usage = usage
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// The most memory that was resident at a time, mapped pages of the store included.
  ///
  /// Linux hands `ru_maxrss` down from the process that started this one; the mark in `/proc` is its own.
  package static var peakResidentBytes: Double {
    #if os(Linux)
      statusBytes("VmHWM") ?? Double(usage.ru_maxrss) * 1_024
    #else
      Double(usage.ru_maxrss)
    #endif
  }

  /// Resident memory now that no file backs.
  package static var anonymousBytes: Double { statusBytes("RssAnon") ?? 0 }

  /// The same once the allocator has given back what it keeps for nobody.
  package static var heldBytes: Double {
    #if os(Linux)
      if let symbol = dlsym(nil, "malloc_trim") {
        // SAFETY: glibc declares it so.
        let trim = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)
        _ = trim(0)
      }
    #endif
    return anonymousBytes
  }

  /// Bytes of the disk that the files in a directory take.
  package static func fileBytes(below path: String) -> Int {
    let files = FileManager.default.enumerator(atPath: path)
    var total = 0
    while let name = files?.nextObject() as? String {
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
      total += (attributes?[.size] as? Int) ?? 0
    }
    return total
  }

  private static var usage: rusage {
    var usage = rusage()
    #if os(Linux)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    return usage
  }

  private static func statusBytes(_ name: String) -> Double? { status(of: getpid())[name] }

  /// The memory figures of a running process in bytes, by the names that Linux gives them.
  package static func status(of process: Int32) -> [String: Double] {
    var figures: [String: Double] = [:]
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else {
      return [:]
    }
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") || line.hasPrefix("RssAnon:") {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count > 1, let kilobytes = Double(words[1]) else { continue }
      figures[String(words[0].dropLast())] = kilobytes * 1_024
    }
    return figures
  }
}
