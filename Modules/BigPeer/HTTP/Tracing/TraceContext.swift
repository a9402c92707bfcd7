#if Server
  package import HTTPTypes

  /// The place of a request in a distributed trace, as its caller has sent it.
  ///
  /// It is handed on as it came: the big peer has no spans of its own.
  ///
  /// Source: W3C, "Trace Context", level 1, sections 3.2 and 3.3.
  package struct TraceContext: Hashable, Sendable, CustomStringConvertible {
    /// The trace, 32 hexadecimal digits.
    package let trace: String
    /// The span of the caller, 16 hexadecimal digits.
    package let span: String
    private let flags: String
    /// The `tracestate` that is handed on beside it; `nil` for none.
    package let state: String?

    /// The number of bytes of the parts that all versions have.
    private static let length = 55

    /// Reads a `traceparent` and the `tracestate` beside it.
    ///
    /// There is no trace for a `traceparent` that is not as described. Such a `tracestate` is left out.
    /// - Parameters:
    ///   - text: The `traceparent`.
    ///   - states: The values of the headers `tracestate`, in their order.
    package init?(_ text: String, states: [String] = []) {
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
      state = TraceState.text(of: states)
    }

    /// The `traceparent` that is handed on, in the version that this program knows.
    package var description: String { "00-\(trace)-\(span)-\(flags)" }

    /// The headers that hand it on.
    package var headers: [(name: HTTPField.Name, value: String)] {
      [(.traceParent, description)] + (state.map { [(.traceState, $0)] } ?? [])
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
      (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
  }

  /// What systems of tracing add to a trace: `vendor=value,…`, of which the big peer reads nothing.
  ///
  /// Source: W3C, "Trace Context", level 1, section 3.3.
  private enum TraceState {
    /// The most members of a list.
    private static let memberLimit = 32
    /// The most bytes that are handed on; members at the end are left out.
    private static let byteLimit = 512

    /// The list that is handed on.
    ///
    /// - Parameter values: The values of the headers, which are one list.
    /// - Returns: `nil` if it is empty, or not as described.
    static func text(of values: [String]) -> String? {
      guard values.reduce(0, { $0 + $1.utf8.count }) <= byteLimit * 16 else { return nil }
      var (members, keys): ([Substring.UTF8View], Set<String>) = ([], [])
      for value in values {
        for part in value.utf8.split(separator: UInt8(ascii: ",")) {
          let member = trimmed(part)
          if member.isEmpty { continue }
          guard let equals = member.firstIndex(of: UInt8(ascii: "=")),
            isKey(member[..<equals]), isValue(member[member.index(after: equals)...]),
            keys.insert(String(Substring(member[..<equals]))).inserted
          else { return nil }
          members.append(member)
        }
      }
      guard !members.isEmpty, members.count <= memberLimit else { return nil }
      var text = ""
      for member in members {
        let more = (text.isEmpty ? "" : ",") + Substring(member)
        guard text.utf8.count + more.utf8.count <= byteLimit else { break }
        text += more
      }
      return text.isEmpty ? nil : text
    }

    private static func trimmed(_ part: Substring.UTF8View) -> Substring.UTF8View {
      var part = part
      while let first = part.first, first == 0x20 || first == 0x09 { part = part.dropFirst() }
      while let last = part.last, last == 0x20 || last == 0x09 { part = part.dropLast() }
      return part
    }

    /// Whether it is a name of at most 256 bytes, which may have a tenant and a system: `tenant@system`.
    private static func isKey(_ key: Substring.UTF8View) -> Bool {
      guard 1...256 ~= key.count, key.count(where: { $0 == UInt8(ascii: "@") }) <= 1, let first = key.first
      else { return false }
      func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
      }
      return isLetterOrDigit(first) && key.last != UInt8(ascii: "@")
        && key.allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
    }

    /// Whether it has 1 to 256 visible characters of ASCII and spaces, without an equals sign.
    private static func isValue(_ value: Substring.UTF8View) -> Bool {
      1...256 ~= value.count
        && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }
  }
#endif
