import DunlinKit
import Foundation
import Logging
import TestKit
import Testing

/// System parameters and sync scopes over a restart, where the configuration asks for it.
@Suite(.timeLimit(.minutes(15))) struct KeptParametersTests {
  let directory: TemporaryDirectory
  let log = RecordedLog()
  var file: String { directory.file("db/parameters") }

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ name: String = "db", keeps: Bool = true) throws -> Dunlin {
    var configuration = DunlinConfiguration(logger: log.logger)
    configuration.keepsSystemParameters = keeps
    return try Dunlin(
      path: directory.file(name), identity: .unsafeDevelopment(appID: "tests"), configuration: configuration)
  }

  private func show(_ dunlin: Dunlin, _ name: String) throws -> String {
    try dunlin.store.blocking { try $0.execute(query: "SHOW \(name)") }.items[0].jsonString()
  }

  private func set(_ dunlin: Dunlin, _ text: String) throws {
    _ = try dunlin.store.blocking { try $0.execute(query: "ALTER SYSTEM \(text)") }
  }

  private static let scopes = "SET USER_COLLECTION_SYNC_SCOPES = {'notes': 'LocalPeerOnly'}"

  @Test func `values and scopes come back where that is asked for`() throws {
    let first = try open()
    try set(first, Self.scopes)
    try set(first, "SET DQL_STRICT_TYPES = true")
    try set(first, "SET DQL_REQUEST_HISTORY_SIZE = 5")
    try set(first, "RESET DQL_REQUEST_HISTORY_SIZE")
    try first.close()
    #expect(
      try String(contentsOfFile: file, encoding: .utf8)
        == #"{"dql_strict_types":true,"user_collection_sync_scopes":{"notes":"LocalPeerOnly"}}"#)
    let second = try open()
    #expect(try show(second, "USER_COLLECTION_SYNC_SCOPES").contains("LocalPeerOnly"))
    #expect(try show(second, "DQL_STRICT_TYPES").contains("true"))
    try set(second, "RESET ALL")
    try second.close()
    let third = try open()
    #expect(try show(third, "DQL_STRICT_TYPES").contains("false"))
    try third.close()
  }

  @Test func `without it nothing is kept, and what is kept is not used in silence`() throws {
    let first = try open(keeps: false)
    try set(first, Self.scopes)
    try first.close()
    #expect(!FileManager.default.fileExists(atPath: file))
    let second = try open()
    #expect(try show(second, "USER_COLLECTION_SYNC_SCOPES").contains("{}"))
    try set(second, Self.scopes)
    try second.close()
    #expect(log.lines(with: "keepsSystemParameters").isEmpty)
    let third = try open(keeps: false)
    #expect(try show(third, "USER_COLLECTION_SYNC_SCOPES").contains("{}"))
    #expect(log.lines(with: "keepsSystemParameters").count == 1)
    try third.close()
  }

  @Test(arguments: [
    "", "{", "[]", #"{"user_collection_sync_scopes":{"notes":"Nowhere"}}"#, #"{"dql_strict_types":7}"#,
  ])
  func `a damaged file keeps the database closed, since scopes would be lost`(text: String) throws {
    try open().close()
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let error = #expect(throws: DunlinError.self) { try open() }
    #expect(error?.code == .corrupt && error?.message.contains(file) == true)
    try FileManager.default.removeItem(atPath: file)
    try open().close()
  }

  @Test func `a value of another release stays for it`() throws {
    try open().close()
    try Data(#"{"from_the_future":1}"#.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let dunlin = try open()
    #expect(log.lines(with: "from_the_future").count == 1)
    try set(dunlin, "SET DQL_STRICT_TYPES = true")
    try dunlin.close()
    #expect(
      try String(contentsOfFile: file, encoding: .utf8) == #"{"dql_strict_types":true,"from_the_future":1}"#)
  }

  @Test func `what cannot be kept is not set`() throws {
    let dunlin = try open()
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    #expect(throws: DunlinError.self) { try set(dunlin, "SET DQL_STRICT_TYPES = true") }
    #expect(try show(dunlin, "DQL_STRICT_TYPES").contains("false"))
    try dunlin.close()
  }

  @Test func `a backup takes them along`() async throws {
    let dunlin = try open()
    try set(dunlin, Self.scopes)
    try await dunlin.store.backup(to: directory.file("copy"))
    try dunlin.close()
    let copy = try open("copy")
    #expect(try show(copy, "USER_COLLECTION_SYNC_SCOPES").contains("LocalPeerOnly"))
    try copy.close()
    _ = try await Dunlin.rescue(path: directory.file("db"), to: directory.file("rescued"))
    let rescued = try open("rescued")
    #expect(try show(rescued, "USER_COLLECTION_SYNC_SCOPES").contains("LocalPeerOnly"))
    try rescued.close()
  }
}
