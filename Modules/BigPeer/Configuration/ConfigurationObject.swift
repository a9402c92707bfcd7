#if Server
  import CRDTCore
  import Foundation
  import Links

  /// An object of a configuration file, whose members are read one by one.
  ///
  /// A member that is never read is reported as a mistake. Each error names the file, the line and the
  /// member.
  package final class ConfigurationObject {
    private let file: String
    private let folder: String
    private let path: String
    private let line: Int
    private var members: [String: ConfigurationValue.Member] = [:]
    private var known: [String] = []

    /// Reads a whole file as one object.
    ///
    /// - Parameters:
    ///   - text: The file's bytes.
    ///   - file: Its path. Messages name it, and paths in the file are relative to its folder.
    /// - Throws: Why the text is not JSON, or not an object.
    package convenience init(text: [UInt8], file: String) throws(ConfigurationError) {
      let value = try ConfigurationValue(text, file: file)
      let folder = URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false)
      try self.init(value, file: file, folder: folder, path: "")
    }

    private init(
      _ value: ConfigurationValue, file: String, folder: String, path: String
    ) throws(ConfigurationError) {
      self.file = file
      self.folder = folder
      self.path = path
      line = value.line
      guard case .object(let members) = value.content else {
        let what = path.isEmpty ? "the configuration" : path
        throw ConfigurationError("\(file):\(value.line)", "\(what) must be an object: { … }")
      }
      for member in members { self.members[member.name] = member }
    }

    // MARK: - Members

    /// A text; `nil` if the member is missing.
    package func text(_ name: String) throws(ConfigurationError) -> String? {
      guard let value = member(name) else { return nil }
      guard case .scalar(.string(let text)) = value.content, !text.isEmpty else {
        throw fault(name, "must be a text that is not empty")
      }
      return text
    }

    /// A required text.
    package func requiredText(_ name: String) throws(ConfigurationError) -> String {
      guard let text = try text(name) else { throw fault(name, "is missing") }
      return text
    }

    /// A whole number within bounds; `nil` if the member is missing.
    package func integer(_ name: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
      guard let value = member(name) else { return nil }
      guard case .scalar(.int(let number)) = value.content, let number = Int(exactly: number),
        range.contains(number)
      else { throw fault(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
      return number
    }

    /// True or false; `nil` if the member is missing.
    package func flag(_ name: String) throws(ConfigurationError) -> Bool? {
      guard let value = member(name) else { return nil }
      guard case .scalar(.bool(let flag)) = value.content else {
        throw fault(name, "must be true or false")
      }
      return flag
    }

    /// A time: seconds, or a text such as `"250ms"`, `"30s"`, `"5m"`, `"24h"` or `"7d"`.
    package func duration(
      _ name: String, in range: ClosedRange<Duration>
    ) throws(ConfigurationError) -> Duration? {
      guard let value = member(name) else { return nil }
      let duration: Duration? =
        switch value.content {
        case .scalar(.int(let seconds)): .seconds(seconds)
        case .scalar(.string(let text)): Self.duration(text)
        default: nil
        }
      guard let duration, range.contains(duration) else {
        throw fault(
          name,
          "must be a time from \(range.lowerBound) to \(range.upperBound), such as \"250ms\", \"30s\", \"5m\", \"24h\" or \"7d\""
        )
      }
      return duration
    }

    private static let timeUnits: [(suffix: String, milliseconds: Int64)] = [
      ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    private static func duration(_ text: String) -> Duration? {
      for (suffix, milliseconds) in timeUnits where text.hasSuffix(suffix) {
        guard let count = Int64(text.dropLast(suffix.count)), 0...1_000_000_000 ~= count else { continue }
        return .milliseconds(count * milliseconds)
      }
      return nil
    }

    /// A number of bytes: a whole number, or a text such as `"64 KiB"`, `"2 MiB"` or `"1 GiB"`.
    package func bytes(_ name: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
      guard let value = member(name) else { return nil }
      let count: Int? =
        switch value.content {
        case .scalar(.int(let count)): Int(exactly: count)
        case .scalar(.string(let text)): Self.bytes(text)
        default: nil
        }
      guard let count, range.contains(count) else {
        throw fault(
          name,
          "must be a number of bytes from \(range.lowerBound) to \(range.upperBound), such as 65536, \"64 KiB\" or \"2 MiB\""
        )
      }
      return count
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
    package func texts(_ name: String) throws(ConfigurationError) -> [String]? {
      guard let value = member(name) else { return nil }
      guard case .list(let elements) = value.content else {
        throw fault(name, "must be a list of texts: [ \"…\" ]")
      }
      var texts: [String] = []
      for element in elements {
        guard case .scalar(.string(let text)) = element.content, !text.isEmpty else {
          throw fault(name, line: element.line, "must be a list of texts that are not empty")
        }
        texts.append(text)
      }
      return texts
    }

    /// An address to listen on.
    package func address(_ name: String) throws(ConfigurationError) -> ListenAddress? {
      guard let text = try text(name) else { return nil }
      guard let address = ListenAddress(text) else { throw fault(name, ListenAddress.expectation) }
      return address
    }

    /// Addresses to listen on.
    package func addresses(_ name: String) throws(ConfigurationError) -> [ListenAddress]? {
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

    /// Addresses without ports, as connections report them for their other end.
    package func ipAddresses(_ name: String) throws(ConfigurationError) -> Set<String>? {
      guard let texts = try texts(name) else { return nil }
      var addresses: Set<String> = []
      for text in texts {
        guard let address = ForwardedAddress.canonical(text) else {
          throw fault(name, "\(text) is no address: 10.0.0.1 or fd00::1, without a port")
        }
        addresses.insert(address)
      }
      return addresses
    }

    /// The address of a listener with the settings `on` and `listen`; `nil` if it is off.
    package func listener(_ address: ListenAddress?) throws(ConfigurationError) -> ListenAddress? {
      let isOn = try flag("on") ?? true
      let named = try self.address("listen")
      return isOn ? named ?? address : nil
    }

    /// A path, made absolute: paths in a file are relative to the file's folder.
    package func filePath(_ name: String) throws(ConfigurationError) -> String? {
      guard let text = try text(name) else { return nil }
      return URL(filePath: text, relativeTo: URL(filePath: folder, directoryHint: .isDirectory))
        .absoluteURL.path(percentEncoded: false)
    }

    /// A path of a file that must exist.
    package func existingFile(_ name: String) throws(ConfigurationError) -> String? {
      guard let path = try filePath(name) else { return nil }
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw fault(name, "the file \(path) is not there, or cannot be read")
      }
      return path
    }

    /// An object within this one; `nil` if the member is missing.
    package func object(_ name: String) throws(ConfigurationError) -> ConfigurationObject? {
      guard let value = member(name) else { return nil }
      return try ConfigurationObject(value, file: file, folder: folder, path: path(to: name))
    }

    /// A list of objects; `nil` if the member is missing.
    package func objects(_ name: String) throws(ConfigurationError) -> [ConfigurationObject]? {
      guard let value = member(name) else { return nil }
      guard case .list(let elements) = value.content else {
        throw fault(name, "must be a list of objects: [ { … } ]")
      }
      var objects: [ConfigurationObject] = []
      for (index, element) in elements.enumerated() {
        objects.append(
          try ConfigurationObject(
            element, file: file, folder: folder, path: "\(path(to: name))[\(index)]"))
      }
      return objects
    }

    // MARK: - Mistakes

    /// The places of all settings in the file, for checks that are made later.
    func places() -> SettingPlaces {
      var places = SettingPlaces()
      places.record("", file: file, line: line)
      for member in members.values { record(member.value, member.name, in: &places) }
      return places
    }

    private func record(_ value: ConfigurationValue, _ path: String, in places: inout SettingPlaces) {
      places.record(path, file: file, line: value.line)
      switch value.content {
      case .scalar: break
      case .list(let elements):
        for (index, element) in elements.enumerated() { record(element, "\(path)[\(index)]", in: &places) }
      case .object(let members):
        for member in members { record(member.value, "\(path).\(member.name)", in: &places) }
      }
    }

    /// The error for a mistake in a member, or for a missing member.
    package func fault(_ name: String, _ message: String) -> ConfigurationError {
      fault(name, line: members[name]?.value.line ?? line, message)
    }

    private func fault(_ name: String, line: Int, _ message: String) -> ConfigurationError {
      ConfigurationError("\(file):\(line)", "\(path(to: name)): \(message)")
    }

    /// Ends the reading.
    ///
    /// - Throws: The first member that was not read, with the names of the valid members.
    package func finish() throws(ConfigurationError) {
      let unread = members.values.filter { !known.contains($0.name) }.min { $0.line < $1.line }
      guard let unread else { return }
      let names = known.sorted().joined(separator: ", ")
      throw ConfigurationError(
        "\(file):\(unread.line)", "\(path(to: unread.name)): there is no such setting; there are \(names)")
    }

    private func member(_ name: String) -> ConfigurationValue? {
      known.append(name)
      guard let value = members[name]?.value else { return nil }
      if case .scalar(.null) = value.content { return nil }
      return value
    }

    private func path(to name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
  }
#endif
