#if TLS
  import CRDTCore
  import Facade
  import Foundation
  import RulesTool
  import ScopePolicy

  /// A file with a grant: the file of its rules, and what the issuer says about the user.
  ///
  /// It is a JSON object such as `{"rules":"waiter.json","claims":{"team":"red"},"presence":"none"}`. The
  /// path of the rules counts from the file's own folder.
  enum GrantFile {
    /// Reads a grant and its rules.
    ///
    /// - Parameter path: The file.
    /// - Returns: The grant.
    /// - Throws: A `ToolError` that names the file, and says what is wrong.
    static func grant(_ path: String) throws -> DunlinGrant {
      let bytes = try RulesFile.bytes(path)
      let file: Content
      do throws(RulesError) {
        file = try Content(bytes)
      } catch {
        throw ToolError(error.text(in: path))
      }
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      let rules = URL(fileURLWithPath: file.rules, relativeTo: folder)
      // Read here first, for a message that names the line.
      let text = try RulesFile.rules(rules.path).canonical
      return try DunlinGrant(
        rules: String(decoding: text, as: UTF8.self), name: rules.deletingPathExtension().lastPathComponent,
        claims: Dictionary(uniqueKeysWithValues: file.claims.map { ($0.text, Self.claim($1)) }),
        answersQueries: file.answersQueries, hearsPresence: file.hearsPresence)
    }

    /// A claim in the form of the Swift API; claims have no other kinds of values.
    private static func claim(_ value: Value) -> Any? {
      switch value {
      case .string(let text): text
      case .int(let number): number
      case .double(let number): number
      case .bool(let flag): flag
      case .array(let elements): elements.map(claim)
      case .null, .counter, .decimal, .bytes, .attachment, .map: nil
      }
    }

    /// What the file says.
    private struct Content {
      let rules: String
      let claims: [TextKey: Value]
      let answersQueries: Bool
      let hearsPresence: Bool

      init(_ bytes: [UInt8]) throws(RulesError) {
        let value: Value
        let lines: JSONTextLines
        do {
          (value, lines) = try JSON.parseWithLines(bytes)
        } catch {
          throw RulesError(error, in: bytes)
        }
        var members = try JSONMembers<RulesError>(value, of: "the grant", lines: lines)
        rules = try members.requiredText("rules", bytes: 4_096)
        claims = try Claims(try members.map("claims") ?? [:], lines: lines.members["claims"]).values
        answersQueries = try members.flag("remoteQueries") ?? false
        hearsPresence =
          try members.value("presence", or: "must be neighbours or none") { value -> Bool? in
            switch value {
            case .string("neighbours"): true
            case .string("none"): false
            default: nil
            }
          } ?? true
        try members.finish()
      }
    }
  }
#endif
