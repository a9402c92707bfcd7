import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// Runs the query cases, statement by statement, on a store.
@Suite struct CaseTests {
  @Test(arguments: try QueryCase.all("cases")) func `comes out as written`(_ one: QueryCase) throws {
    guard CaseTables.skipped[one.id] == nil else { return }
    try Self.run(one)
  }

  @Test(arguments: try ownCases().filter { !$0.isExpression }) func `comes out as we read the reference`(
    _ one: QueryCase
  ) throws {
    try Self.run(one)
  }

  @Test func `expressions have the values that we read in the reference`() throws {
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      for one in try Self.ownCases() where one.isExpression {
        do {
          try Self.run(one) { try peer.run(one.members, of: one) }
        } catch {
          Issue.record("\(one.id): \(error)")
        }
      }
    }
  }

  /// Those of our own that need nothing that is missing.
  private static func ownCases() throws -> [QueryCase] {
    try QueryCase.all("cases-own").filter { one in
      one.strings("needs").allSatisfy { CaseTables.missing[$0] == nil }
    }
  }

  /// A case in the table of known failures must fail: one that passes has to leave the table.
  private static func run(_ one: QueryCase, _ body: (() throws -> Void)? = nil) throws {
    let body = body ?? one.run
    guard let reason = CaseTables.known[one.id] else { return try body() }
    withKnownIssue("\(reason)") { try body() }
  }

  @Test func `the tables name cases that exist, once`() throws {
    let given = try QueryCase.all("cases")
    let own = try QueryCase.all("cases-own")
    let ids = Set((given + own).map(\.id))
    #expect(ids.count == given.count + own.count)
    #expect(ids.isSuperset(of: CaseTables.skipped.keys))
    #expect(ids.isSuperset(of: CaseTables.known.keys))
    #expect(ids.isSuperset(of: CaseTables.causes.keys))
    #expect(Set(CaseTables.skipped.keys).isDisjoint(with: CaseTables.known.keys))
    for one in own { expect(Set(one.strings("needs")).isSubset(of: CaseTables.features), "\(one.id)") }
  }

  /// Cases that need a feature wait while its example is refused by name; then it has to leave the table.
  @Test(arguments: CaseTables.missing.sorted { $0.key < $1.key }) func `a missing feature is refused by name`(
    _ feature: String, _ example: String
  ) throws {
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      try peer.load("cars")
      try peer.load("customers")
      let error = #expect(throws: QueryError.self) { _ = try peer.perform(example, nil, [:]) }
      let codes: [QueryError.Code] = [.unsupported, .unknownFunction, .unknownParameter]
      #expect(codes.contains(try #require(error).code), "\(feature)")
    }
  }
}
