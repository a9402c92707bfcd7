#if Server
  import CRDTCore
  import Foundation

  /// A setting of the configuration file from the environment: `BIGPEER__http__limits__rows=1000`.
  ///
  /// The name is `BIGPEER__` and the path of the setting, with `__` in place of each `.` and around the place
  /// in a list. The value is JSON, or a text without quotes. With `_FILE` behind the name, the value is the
  /// text in a file.
  package struct SettingOverride: Sendable {
    /// The name of the variable.
    let variable: String
    private let path: [String]
    private let text: String
    private let isFile: Bool

    private static let prefix = "BIGPEER__"
    private static let fileSuffix = "_FILE"
    /// The maximum size of a file with a setting, in bytes.
    private static let fileBytes = 64 << 10

    /// Reads a variable; `nil` if it is not the variable of a setting, or empty.
    init?(_ variable: String, _ text: String) {
      guard variable.hasPrefix(Self.prefix), !text.isEmpty else { return nil }
      isFile = variable.hasSuffix(Self.fileSuffix)
      let name = variable.dropFirst(Self.prefix.count).dropLast(isFile ? Self.fileSuffix.count : 0)
      path = name.split(separator: "__", omittingEmptySubsequences: false).map(String.init)
      (self.variable, self.text) = (variable, text)
    }

    /// All settings of an environment, an object before its members and the elements of a list in order.
    static func all(in environment: [String: String]) -> [SettingOverride] {
      environment.compactMap { SettingOverride($0, $1) }.sorted { a, b in
        for (one, other) in zip(a.path, b.path) where one != other {
          if let one = Int(one), let other = Int(other) { return one < other }
          return one < other
        }
        return (a.path.count, a.isFile ? 1 : 0) < (b.path.count, b.isFile ? 1 : 0)
      }
    }

    /// The configuration with this setting.
    ///
    /// - Throws: A name that is no path, a place beyond the end of a list, a file that cannot be read.
    func applied(
      to value: Value, _ lines: JSONTextLines
    ) throws(ConfigurationError) -> (Value, JSONTextLines) {
      guard path.allSatisfy({ !$0.isEmpty }) else {
        throw ConfigurationError(
          variable, "this names no setting: BIGPEER__ and a path such as http__limits__rows are expected")
      }
      return try setting(path[...], to: try read(), in: (value, lines))
    }

    private func read() throws(ConfigurationError) -> Value {
      guard isFile else { return (try? JSON.parse(Array(text.utf8))) ?? .string(text) }
      let bytes: Data
      do {
        let file = try FileHandle(forReadingFrom: URL(filePath: text))
        bytes = try file.read(upToCount: Self.fileBytes + 1) ?? Data()
      } catch {
        throw ConfigurationError(variable, "the file \(text) cannot be read: \(error.localizedDescription)")
      }
      guard bytes.count <= Self.fileBytes, let content = String(bytes: bytes, encoding: .utf8) else {
        throw ConfigurationError(
          variable, "the file \(text) must be a text of at most \(Self.fileBytes) bytes")
      }
      return .string(content.trimmingCharacters(in: .newlines))
    }

    private func setting(
      _ path: ArraySlice<String>, to value: Value, in current: (value: Value, lines: JSONTextLines)
    ) throws(ConfigurationError) -> (Value, JSONTextLines) {
      guard let name = path.first else { return (value, JSONTextLines(value, from: variable)) }
      let (rest, nothing) = (path.dropFirst(), JSONTextLines(.null, from: variable))
      switch current.value {
      case .array(var elements) where Int(name) != nil:
        guard let index = Int(name), index >= 0, index <= elements.count else {
          throw ConfigurationError(variable, "the list has \(elements.count) elements, counted from 0")
        }
        let isThere = index < elements.count
        let (element, lines) = try setting(
          rest, to: value,
          in: isThere ? (elements[index], current.lines.elements[index]) : (.null, nothing))
        if isThere { elements[index] = element } else { elements.append(element) }
        return (.array(elements), current.lines.setting(index, to: lines))
      case .null where Int(name) != nil:
        return try setting(path, to: value, in: (.array([]), JSONTextLines(.array([]), from: variable)))
      case .map(var members):
        let key = TextKey(name)
        let (member, lines) = try setting(
          rest, to: value, in: (members[key] ?? .null, current.lines.members[key] ?? nothing))
        members[key] = member
        return (.map(members), current.lines.setting(key, to: lines))
      case .null:
        return try setting(path, to: value, in: (.map([:]), JSONTextLines(.map([:]), from: variable)))
      default:
        throw ConfigurationError(variable, "what contains \(name) is neither an object nor a list")
      }
    }
  }
#endif
