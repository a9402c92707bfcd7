// swift-tools-version: 6.2
import PackageDescription

/// A target that depends on one product and on the `others` whose types its interface takes.
///
/// The package is outside the library's own package.
func consumer(of product: String, with others: String...) -> Target {
  .executableTarget(
    name: "Only\(product)", dependencies: ([product] + others).map { .product(name: $0, package: "dunlin") },
    path: "Only\(product)",
    swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
  )
}

/// The library as a path, or a copy that is tagged as a release.
///
/// Of a release, SwiftPM refuses a product with unsafe flags.
let library: Package.Dependency =
  if let release = Context.environment["DUNLIN_RELEASE"] {
    .package(url: release, exact: "1.0.0", traits: [])
  } else {
    .package(name: "dunlin", path: "../..", traits: [])
  }

let package = Package(
  name: "consumers",
  platforms: [.macOS(.v15)],
  dependencies: [library],
  targets: [
    consumer(of: "CRDTCore"), consumer(of: "DocStore"), consumer(of: "QueryLanguage", with: "CRDTCore"),
    consumer(of: "QueryEngine", with: "DocStore"), consumer(of: "DunlinFeed", with: "DocStore"),
    consumer(of: "SyncProtocol", with: "DocStore", "QueryEngine"),
    consumer(of: "Links"), consumer(of: "Transports", with: "DocStore", "QueryEngine", "SyncProtocol"),
    consumer(of: "DunlinKit"),
  ]
)
