#if Server
  import BenchmarkSupport

  /// What the benchmark asks of a process that it has started, one JSON line each.
  enum Request: Codable, Sendable {
    /// Opens so many devices, which connect to a port of this machine.
    ///
    /// - Parameter key: The key that all share, in Base64; without one nobody proves anything.
    case open(devices: Int, path: String, port: Int, key: String?, collection: String)
    /// Lets all of them connect.
    case connect
    /// Has the first device import JSON Lines.
    case load(path: String)
    /// Has the first device write one small document.
    case write(id: String)
    /// Waits until each device has seen so many changes.
    case wait(changes: Int)
    /// Waits until each device is connected for the so-manieth time.
    case waitForConnections(Int)
    /// Processor time, memory, and what the devices' attempts to connect came to.
    case state
    case quit
  }

  /// What such a process answers.
  struct Reply: Codable, Sendable {
    var figures: [String: Double] = [:]
    /// Times in monotonic nanoseconds, which all processes of a machine share.
    var times: [Double] = []
    var words: [String: String] = [:]
    var error: String?

    func figure(_ name: String) throws -> Double {
      guard let figure = figures[name] else { throw BenchmarkError("a process told no \(name)") }
      return figure
    }

    func word(_ name: String) throws -> String {
      guard let word = words[name] else { throw BenchmarkError("a process told no \(name)") }
      return word
    }
  }
#endif
