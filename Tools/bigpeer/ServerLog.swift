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
      let text = format == .json ? line.json : line.text
      // Whoever reads the log may have gone; the server goes on.
      try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    }
  }
#endif
