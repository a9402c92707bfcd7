#if Server
  import BigPeer
  import Foundation
  import Logging

  /// Log lines on standard error, each an event, in the format of the configuration.
  struct ServerLog: LogHandler {
    let format: BigPeerConfiguration.LogFormat
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(_ format: BigPeerConfiguration.LogFormat, _ provider: Logger.MetadataProvider?) {
      self.format = format
      metadataProvider = provider
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
      let line = LogLine(event.level, "\(event.message)", all, at: Date())
      var text = format == .json ? line.json : line.text
      text.append("\n")
      text.withUTF8 { Self.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes bytes to standard error; whoever reads the log may have gone, and the server goes on.
    private static func write(_ bytes: UnsafeRawBufferPointer) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let count = Foundation.write(FileHandle.standardError.fileDescriptor, part.baseAddress, part.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
#endif
