#if Server
  import Foundation

  /// Where the files of a case lie, and how its peers prove who they are.
  struct Places {
    let server: URL
    let devices: URL
    let isSecure: Bool

    /// The same for one case, empty.
    func fresh() throws -> Places {
      let name = "case-\(UInt64.random(in: 0 ... .max))"
      let places = Places(
        server: server.appendingPathComponent(name), devices: devices.appendingPathComponent(name),
        isSecure: isSecure)
      for place in [places.server, places.devices] {
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      }
      return places
    }

    func remove() {
      for place in [server, devices] { try? FileManager.default.removeItem(at: place) }
    }
  }

  /// How many files and sockets a process may have open.
  enum Descriptors {
    /// Raises it as far as the system lets a process do it itself.
    static func raise() {
      #if os(Linux)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      #else
        let resource = RLIMIT_NOFILE
      #endif
      var limit = rlimit()
      guard getrlimit(resource, &limit) == 0 else { return }
      limit.rlim_cur = min(limit.rlim_max, 65_536)
      _ = setrlimit(resource, &limit)
    }
  }
#endif
