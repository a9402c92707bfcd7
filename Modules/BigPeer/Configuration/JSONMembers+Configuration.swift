#if Server
  package import CRDTCore
  import Foundation
  import Transports

  /// An object of a configuration file, whose members are read one by one.
  ///
  /// Each error names the file, the line and the member.
  package typealias ConfigurationObject = JSONMembers<ConfigurationError>

  extension ConfigurationError: JSONMemberError {
    /// A text in a file is not empty.
    package static var textBytes: ClosedRange<Int> { 1...Int.max }

    package init(_ mistake: JSONMistake) {
      let sentence =
        switch mistake.reason {
        case .noObject:
          "\(mistake.path.isEmpty ? "the configuration" : mistake.path) must be an object: { … }"
        case .unread(let known):
          "\(mistake.path): there is no such setting; there are \(known.map(\.text).sorted().joined(separator: ", "))"
        case .kind(.text), .bounds(.text): "\(mistake.path): must be a text that is not empty"
        case .kind(.list): "\(mistake.path): must be a list of objects: [ { … } ]"
        case .missing, .kind, .bounds, .words: "\(mistake.path): \(mistake.sentence)"
        }
      // A setting from a variable has no line.
      self.init(mistake.line.map { "\(mistake.source):\($0)" } ?? mistake.source, sentence)
    }
  }

  extension ConfigurationObject {
    /// Reads a whole file as one object.
    ///
    /// - Parameters:
    ///   - text: The file's bytes.
    ///   - file: Its path. Messages name it, and paths in the file are relative to its folder.
    ///   - overrides: Settings from variables, which override those of the file.
    /// - Throws: Why the text is not JSON, or not an object; all overrides that cannot be read.
    package init(
      text: [UInt8], file: String, overriding overrides: [SettingOverride] = []
    ) throws(ConfigurationError) {
      var (value, lines): (Value, JSONTextLines)
      do {
        (value, lines) = try JSON.parseWithLines(text)
      } catch {
        let line = 1 + text.prefix(error.offset).count { $0 == 0x0A }
        throw ConfigurationError("\(file):\(line)", "this is not JSON: \(error.message)")
      }
      let mistakes = Mistakes()
      for override in overrides {
        mistakes.collect { (value, lines) = try override.applied(to: value, lines) }
      }
      try mistakes.check()
      try self.init(value, of: file, lines: lines)
    }

    // MARK: - Members

    /// A time: seconds, or a text such as `"250ms"`, `"30s"`, `"5m"`, `"24h"` or `"7d"`.
    package mutating func duration(
      _ name: TextKey, in range: ClosedRange<Duration>
    ) throws(ConfigurationError) -> Duration? {
      try value(
        name,
        or:
          "must be a time from \(range.lowerBound) to \(range.upperBound), such as \"250ms\", \"30s\", \"5m\", \"24h\" or \"7d\""
      ) { value in
        Self.duration(value).flatMap { range.contains($0) ? $0 : nil }
      }
    }

    /// How long deletions are remembered; zero means for ever where that is possible.
    mutating func lifetime(
      _ name: TextKey, isEndless: Bool
    ) throws(ConfigurationError) -> Duration? {
      try value(name, or: DeletionLifetime.expectation(isEndless: isEndless)) { value in
        Self.duration(value).flatMap { DeletionLifetime.isValid($0) || isEndless && $0 == .zero ? $0 : nil }
      }
    }

    private static func duration(_ value: Value) -> Duration? {
      switch value {
      case .int(let seconds): .seconds(seconds)
      case .string(let text): duration(text)
      default: nil
      }
    }

    private static func duration(_ text: String) -> Duration? {
      let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
      ]
      for (suffix, milliseconds) in units where text.hasSuffix(suffix) {
        guard let count = Int64(text.dropLast(suffix.count)), 0...1_000_000_000 ~= count else { continue }
        return .milliseconds(count * milliseconds)
      }
      return nil
    }

    /// A number of bytes: a whole number, or a text such as `"64 KiB"`, `"2 MiB"` or `"1 GiB"`.
    package mutating func bytes(
      _ name: TextKey, in range: ClosedRange<Int>
    ) throws(ConfigurationError) -> Int? {
      try value(
        name,
        or:
          "must be a number of bytes from \(range.lowerBound) to \(range.upperBound), such as 65536, \"64 KiB\" or \"2 MiB\""
      ) { value in
        let count: Int? =
          switch value {
          case .int(let count): Int(exactly: count)
          case .string(let text): Self.bytes(text)
          default: nil
          }
        return count.flatMap { range.contains($0) ? $0 : nil }
      }
    }

    private static func bytes(_ text: String) -> Int? {
      for (suffix, shift) in [("KiB", 10), ("MiB", 20), ("GiB", 30)] where text.hasSuffix(suffix) {
        guard let count = Int(text.dropLast(3).trimmingCharacters(in: .whitespaces)), 0..<(1 << 30) ~= count
        else { return nil }
        return count << shift
      }
      return nil
    }

    /// A list of texts; `nil` if the member is missing.
    package mutating func texts(_ name: TextKey) throws(ConfigurationError) -> [String]? {
      let elements = try value(name, or: "must be a list of texts: [ \"…\" ]") { value -> [Value]? in
        if case .array(let elements) = value { elements } else { nil }
      }
      guard let elements else { return nil }
      var texts: [String] = []
      for (index, element) in elements.enumerated() {
        guard case .string(let text) = element, !text.isEmpty else {
          let place = lines?.members[name]?.elements[index]
          let fault = fault(
            name, .words("must be a list of texts that are not empty"), line: place?.line)
          throw place?.origin.map { ConfigurationError($0, fault.message) } ?? fault
        }
        texts.append(text)
      }
      return texts
    }

    /// An address to listen on.
    package mutating func address(_ name: TextKey) throws(ConfigurationError) -> ListenAddress? {
      guard let text = try text(name) else { return nil }
      guard let address = ListenAddress(text) else { throw fault(name, ListenAddress.expectation) }
      return address
    }

    /// Addresses to listen on.
    package mutating func addresses(_ name: TextKey) throws(ConfigurationError) -> [ListenAddress]? {
      guard let texts = try texts(name) else { return nil }
      var addresses: [ListenAddress] = []
      for text in texts {
        guard let address = ListenAddress(text) else {
          throw fault(name, "\(text): \(ListenAddress.expectation)")
        }
        addresses.append(address)
      }
      return addresses
    }

    /// Addresses without ports, as connections report them for their other end, and networks.
    package mutating func ipAddresses(_ name: TextKey) throws(ConfigurationError) -> Set<String>? {
      guard let texts = try texts(name) else { return nil }
      var addresses: Set<String> = []
      for text in texts {
        guard let address = ProxyAddresses.canonical(text) else {
          throw fault(name, "\(text) is no address: \(ListenAddress.proxyExpectation)")
        }
        addresses.insert(address)
      }
      return addresses
    }

    /// The address of a listener with the settings `on` and `listen`; `nil` if it is off.
    package mutating func listener(_ address: ListenAddress?) throws(ConfigurationError) -> ListenAddress? {
      let mistakes = Mistakes()
      // Both are read in any case: a member that is not read counts as unknown.
      let isOn = (mistakes.collect { try flag("on") } ?? nil) ?? true
      let named = mistakes.collect { try self.address("listen") } ?? nil
      try mistakes.check()
      return isOn ? named ?? address : nil
    }

    /// A path, made absolute: paths in a file are relative to the file's folder.
    ///
    /// A path in a variable is relative to the working directory, like one in a flag.
    package mutating func filePath(_ name: TextKey) throws(ConfigurationError) -> String? {
      let origin = lines?.members[name]?.origin
      guard let text = try text(name) else { return nil }
      if origin != nil { return URL(filePath: text).absoluteURL.path(percentEncoded: false) }
      let folder = URL(filePath: source).deletingLastPathComponent().path(percentEncoded: false)
      return URL(filePath: text, relativeTo: URL(filePath: folder, directoryHint: .isDirectory))
        .absoluteURL.path(percentEncoded: false)
    }

    /// A path of a file that must exist.
    package mutating func existingFile(_ name: TextKey) throws(ConfigurationError) -> String? {
      guard let path = try filePath(name) else { return nil }
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw fault(name, "the file \(path) is not there, or cannot be read")
      }
      return path
    }

    /// A path of a file that must exist and must be named.
    ///
    /// - Parameters:
    ///   - name: The member.
    ///   - what: What to name, for the message.
    /// - Returns: The path.
    /// - Throws: A file that is missing, here or in its folder.
    mutating func requiredFile(_ name: TextKey, _ what: String) throws(ConfigurationError) -> String {
      guard let path = try existingFile(name) else { throw fault(name, "is missing: name \(what)") }
      return path
    }

    // MARK: - Places

    /// The places of all settings in the file, for checks that are made later.
    func places() -> SettingPlaces {
      var places = SettingPlaces()
      if let lines { record(lines, nil, in: &places) }
      return places
    }

    private func record(_ lines: JSONTextLines, _ path: String?, in places: inout SettingPlaces) {
      if let origin = lines.origin, let path {
        places.record(path, flag: origin)
      } else {
        places.record(path ?? "", file: source, line: lines.line)
      }
      for (index, element) in lines.elements.enumerated() {
        record(element, "\(path ?? "")[\(index)]", in: &places)
      }
      for (name, member) in lines.members {
        record(member, path.map { "\($0).\(name)" } ?? name.text, in: &places)
      }
    }
  }

  extension Value {
    /// The text of a string value; `nil` for any other value.
    var stringValue: String? {
      guard case .string(let text) = self else { return nil }
      return text
    }
  }
#endif
