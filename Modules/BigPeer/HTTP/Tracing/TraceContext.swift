#if Server
  /// The place of a request in a distributed trace, as its caller has sent it.
  ///
  /// It is handed on as it came: the big peer has no spans of its own.
  ///
  /// Source: W3C, "Trace Context", level 1, section 3.2.
  package struct TraceContext: Hashable, Sendable, CustomStringConvertible {
    /// The trace, 32 hexadecimal digits.
    package let trace: String
    /// The span of the caller, 16 hexadecimal digits.
    package let span: String
    private let flags: String

    /// The number of bytes of the parts that all versions have.
    private static let length = 55

    /// Reads a `traceparent`.
    ///
    /// - Returns: `nil` for a text that is not as described: then there is no trace.
    package init?(_ text: String) {
      let bytes = text.utf8
      guard bytes.count >= Self.length, bytes.count <= 512 else { return nil }
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count >= 4, zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.utf8.count == $1 }),
        parts[..<4].allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) })
      else { return nil }
      // Later versions may have more parts; the invalid version has no meaning at all.
      guard parts[0] != "ff", parts[0] != "00" || bytes.count == Self.length else { return nil }
      guard parts[1...2].allSatisfy({ $0.contains { $0 != "0" } }) else { return nil }
      (trace, span) = (String(parts[1]), String(parts[2]))
      flags = String(parts[3])
    }

    /// The `traceparent` that is handed on, in the version that this program knows.
    package var description: String { "00-\(trace)-\(span)-\(flags)" }

    private static func isDigit(_ byte: UInt8) -> Bool {
      (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
  }
#endif
