import CRDTCore
import Foundation
import ScopePolicy

/// A file with access rules, and one with a user.
enum RulesFile {
  /// The bytes of a file, of which one more than allowed is read at most.
  static func bytes(_ path: String) throws -> [UInt8] {
    let file = try RawFile.open(reading: path)
    var bytes: [UInt8] = []
    while bytes.count <= AccessRules.sourceBytes {
      let more = try file.read(upTo: AccessRules.sourceBytes + 1 - bytes.count)
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }

  /// Reads rules.
  ///
  /// - Throws: A `ToolError` that names the file, the line and the place.
  static func rules(_ path: String) throws -> AccessRules {
    let bytes = try bytes(path)
    do throws(RulesError) {
      return try AccessRules(json: bytes)
    } catch {
      throw ToolError(error.text(in: path))
    }
  }
}

extension RulesError {
  /// The error with the file in which it is: `waiter.json:4: read…: …`.
  func text(in file: String) -> String {
    let place = line.map { "\(file):\($0)" } ?? file
    let excerpt = excerpt.map { "\n" + $0 } ?? ""
    return "\(place): \(message.printable)\(excerpt)"
  }
}

/// A user for whom rules are tried: the id, the claims, and perhaps the file with the rules.
///
/// The file is a JSON object: `{"user":{"id":"ann"},"claims":{"team":"red"},"rules":"waiter.json"}`.
struct RulesUser {
  /// The file that says it.
  let file: String
  let id: String?
  let claims: Claims
  /// The path of the rules that the file names, from its own folder; `nil` if it names none.
  let rules: String?

  /// The most bytes of a user's id, as in a certificate.
  private static let idBytes = 128

  /// What the user is called in what commands print.
  var name: String { (id ?? file).printable }

  init(file: String) throws {
    let bytes = try RulesFile.bytes(file)
    self.file = file
    do throws(RulesError) {
      (id, claims, rules) = try Self.read(bytes)
    } catch {
      throw ToolError(error.text(in: file))
    }
  }

  private static func read(_ bytes: [UInt8]) throws(RulesError) -> (String?, Claims, String?) {
    let value: Value
    let lines: JSONTextLines
    do {
      (value, lines) = try JSON.parseWithLines(bytes)
    } catch {
      throw RulesError(error, in: bytes)
    }
    var members = try JSONMembers<RulesError>(value, of: "the user", lines: lines)
    var user = try members.object("user")
    let id = try user?.requiredText("id", bytes: idBytes)
    try user?.finish()
    let claims = try Claims(try members.map("claims") ?? [:], lines: lines.members["claims"])
    let rules = try members.text("rules")
    try members.finish()
    return (id, claims, rules)
  }

  /// The path of the rules: the one that was given, or else the one that the file names.
  func rulesPath(given: String?) throws -> String {
    if let given { return given }
    guard let rules else {
      throw ToolError("\(file): it names no rules: give them with --rules, or as \"rules\" in this file")
    }
    return URL(fileURLWithPath: rules, relativeTo: URL(fileURLWithPath: file).deletingLastPathComponent())
      .path
  }
}
