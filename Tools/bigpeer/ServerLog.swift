#if Server
  import Foundation
  import Links
  import Logging

  /// Log lines on standard error: time, level, message, and the metadata by name; one event is one line.
  struct ServerLog: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.escaped("\($0.value)"))" }.joined()
      let time = Date().timeText
      var line = "\(time) \(event.level): \(Self.escaped("\(event.message)"))\(values)\n"
      line.withUTF8 { Self.write(UnsafeRawBufferPointer($0)) }
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

    /// The text with its control characters and line separators written out.
    private static func escaped(_ text: String) -> String {
      if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
      guard !text.unicodeScalars.allSatisfy(isPlain) else { return text }
      return text.unicodeScalars.map { scalar in
        isPlain(scalar) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
      }.joined()
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: false
      default: true
      }
    }
  }
#endif
