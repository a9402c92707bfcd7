import CRDTCore
import Foundation
import Links
package import ScopePolicy

/// What is wrong with a file with access rules, or with one with a user: the file, the line and the mistake.
package struct RulesFileError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// A file with access rules, and one with a user.
package enum RulesFile {
  /// Reads a file.
  ///
  /// - Parameter path: The file.
  /// - Returns: Its bytes, of which one more than allowed is read at most.
  /// - Throws: `RulesFileError` that names the file.
  package static func bytes(_ path: String) throws(RulesFileError) -> [UInt8] {
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      return Array(try file.read(upToCount: AccessRules.sourceBytes + 1) ?? Data())
    } catch {
      throw RulesFileError("\(path) cannot be read: \(error.localizedDescription)")
    }
  }

  /// Reads rules.
  ///
  /// - Parameter path: The file.
  /// - Returns: The rules.
  /// - Throws: `RulesFileError` that names the file, the line and the place.
  package static func rules(_ path: String) throws(RulesFileError) -> AccessRules {
    let bytes = try bytes(path)
    do throws(RulesError) {
      return try AccessRules(json: bytes)
    } catch {
      throw RulesFileError(error.text(in: path))
    }
  }
}

extension RulesError {
  /// The error with the file in which it is: `waiter.json:4: read…: …`.
  ///
  /// - Parameter file: The file.
  /// - Returns: The text, with the query and a caret below the place where there is one.
  package func text(in file: String) -> String {
    let place = line.map { "\(file):\($0)" } ?? file
    let excerpt = excerpt.map { "\n" + $0 } ?? ""
    return "\(place): \(PlainText.of(message))\(excerpt)"
  }
}

/// A user for whom rules are tried: the id, the claims, and perhaps the file with the rules.
///
/// The file is a JSON object: `{"user":{"id":"ann"},"claims":{"team":"red"},"rules":"waiter.json"}`.
package struct RulesUser {
  /// The file that says it.
  package let file: String
  package let id: String?
  package let claims: Claims
  /// The path of the rules that the file names, from its own folder; `nil` if it names none.
  let rules: String?

  /// The most bytes of a user's id, as in a certificate.
  private static let idBytes = 128

  /// What the user is called in what commands print.
  package var name: String { PlainText.of(id ?? file) }

  /// Reads a user.
  ///
  /// - Parameter file: The file.
  /// - Throws: `RulesFileError` that names the file, the line and the place.
  package init(file: String) throws(RulesFileError) {
    let bytes = try RulesFile.bytes(file)
    self.file = file
    do throws(RulesError) {
      (id, claims, rules) = try Self.read(bytes)
    } catch {
      throw RulesFileError(error.text(in: file))
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
  ///
  /// - Parameter given: The path that was given, if any.
  /// - Returns: The path.
  /// - Throws: `RulesFileError` if there is neither.
  package func rulesPath(given: String?) throws(RulesFileError) -> String {
    if let given { return given }
    guard let rules else {
      throw RulesFileError("\(file): it names no rules: give them with --rules, or as \"rules\" in this file")
    }
    return URL(fileURLWithPath: rules, relativeTo: URL(fileURLWithPath: file).deletingLastPathComponent())
      .path
  }
}
