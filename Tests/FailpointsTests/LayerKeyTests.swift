import CRDTCore
import DocStore
import Failpoints
import QueryComparison
import QueryEngine
import SimKit
import SyncProtocol
import Testing

/// The keys that the layers declare, together.
@Suite struct LayerKeyTests {
  private static let failpoints: [any Failpoint] =
    CRDTDefect.allCases + StoreDefect.allCases + LanguageDefect.allCases + QueryDefect.allCases
    + SyncDefect.allCases
  private static let points: [any CoveragePoint] = StorePoint.allCases + SyncPoint.allCases

  @Test func `no two layers give one number or name to two keys`() {
    #expect(Set(Self.failpoints.map { $0.rawValue }).count == Self.failpoints.count)
    #expect(Set(Self.points.map { $0.rawValue }).count == Self.points.count)
    #expect(
      Set(Self.failpoints.map(\.name) + Self.points.map(\.name) + Sometimes.allCases.map(\.rawValue)).count
        == Self.failpoints.count + Self.points.count + Sometimes.allCases.count)
  }

  @Test func `either the simulator or the comparison of queries looks for each defect`() {
    let looked = DefectSearch.defects.map(\.name) + QueryComparison.defects.map(\.name)
    #expect(looked.sorted() == Self.failpoints.map(\.name).sorted())
  }

  @Test func `the simulator counts each coverage point`() {
    #expect(Report.coveragePoints.map(\.name).sorted() == Self.points.map(\.name).sorted())
  }
}
