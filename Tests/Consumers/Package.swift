// swift-tools-version: 6.2
import PackageDescription

/// A package outside the library's own, whose targets each depend on one product, and on those whose types its interface takes.
func consumer(of product: String, with others: String...) -> Target {
  .executableTarget(
    name: "Only\(product)", dependencies: ([product] + others).map { .product(name: $0, package: "dunlin") },
    path: "Only\(product)",
    swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
  )
}

let package = Package(
  name: "consumers",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "dunlin", path: "../..", traits: [])],
  targets: [
    consumer(of: "CRDTCore"), consumer(of: "DocStore"), consumer(of: "QueryEngine", with: "DocStore"),
    consumer(of: "SyncProtocol", with: "DocStore", "QueryEngine"),
    consumer(of: "Transports", with: "DocStore", "QueryEngine", "SyncProtocol"), consumer(of: "DunlinKit"),
  ]
)
